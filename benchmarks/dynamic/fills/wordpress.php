<?php
define('WP_INSTALLING', true);
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
$job = json_decode(stream_get_contents(STDIN));
$zh = $job->language === 'zh';
$title = $zh ? '自由软件笔记' : 'Notes of a programmer';
wp_install($title, $zh ? '编辑' : 'Editor', 'a@example.org', true, '', 'only of this blog', $zh ? 'zh_CN' : '');
update_option('permalink_structure', $zh ? '' : '/%year%/%monthnum%/%postname%/');
update_option('page_comments', 1);
update_option('comments_per_page', 5);
update_option('thread_comments', 1);
update_option('posts_per_page', 6);
$names = $zh ? ['系统', '网络', '软件包', '安全', '桌面'] : ['System', 'Network', 'Libraries', 'Safety', 'Desktop'];
$readers = $zh ? ['李雷', '韩梅梅', '王小明', '游客'] : ['Ann', 'Bob', 'Carla', 'Guest'];
mt_srand(7);
foreach ($job->posts as $number => $said) {
    $date = date('Y-m-d H:i:s', 1767225600 + 100000 * $number);
    $body = '<p>' . implode("</p>\n<p>", array_map('esc_html', $said->body)) . '</p>';
    $later = $number - (count($job->posts) - 6);  // three on the second day, three on the third
    $post = wp_insert_post(['post_title' => $said->title, 'post_content' => wp_slash($body),
        'post_status' => $later < 0 ? 'publish' : 'draft',
        'meta_input' => ['day' => $later < 0 ? 1 : 2 + intdiv($later, 3)], 'post_date' => $date, 'post_author' => 1,
        'post_category' => [wp_create_category($names[$number % 5])],
        'tags_input' => [$names[$number % 3] . $number % 7, $names[$number % 4] . $number % 6]]);
    $before = 0;
    foreach ($said->answers as $place => $answer) {
        $at = date('Y-m-d H:i:s', 1767225600 + 100000 * $number + 7000 * $place + mt_rand(0, 6000));
        $before = wp_insert_comment(['comment_post_ID' => $post, 'comment_content' => wp_slash(esc_html($answer)),
            'comment_author' => $readers[mt_rand(0, 3)], 'comment_approved' => 1, 'comment_date' => $at,
            'comment_parent' => $place % 3 == 2 ? $before : 0]);
    }
}
$widgets = [];
foreach (['recent-posts', 'recent-comments', 'calendar', 'tag_cloud', 'archives', 'categories'] as $name) {
    update_option("widget_$name", [2 => ['title' => '', 'number' => 5], '_multiwidget' => 1]);
    $widgets[] = "$name-2";
}
update_option('sidebars_widgets', ['wp_inactive_widgets' => [], 'sidebar-1' => $widgets, 'array_version' => 3]);
flush_rewrite_rules();
