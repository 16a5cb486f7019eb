<?php
// What plugins add to a blog: views, related posts, who is here, a clock, print views, ways to share.
function extras_views($post) {
    $views = 1 + (int) get_post_meta($post, 'views', true);
    update_post_meta($post, 'views', $views);
    return $views;
}

add_filter('the_content', function ($content) {
    if (!is_singular() || !in_the_loop() || isset($_GET['print'])) {
        return $content;
    }
    $post = get_the_ID();
    $zh = get_option('WPLANG') === 'zh_CN' || get_locale() === 'zh_CN';
    $links = '';
    // Some blogs relate posts by their tags, others by chance.
    $by = $zh ? ['orderby' => 'rand'] : ['tag__in' => wp_get_post_tags($post, ['fields' => 'ids'])];
    foreach (get_posts(['numberposts' => 4, 'exclude' => [$post]] + $by) as $other) {
        $links .= '<li><a href="' . get_permalink($other) . '">' . get_the_title($other) . '</a></li>';
    }
    $print = add_query_arg('print', 1, get_permalink($post));
    $share = add_query_arg('share', 'facebook', get_permalink($post));
    $words = $zh ? ['阅读次数：%d', '打印本页', '分享到微博', '相关文章']
        : ['Views: %d', 'Print This Post', 'Share on Facebook', 'Related posts'];
    return $content . '<div class="extras"><p>' . sprintf($words[0], extras_views($post)) . "</p>
<p><a href='$print'>$words[1]</a> | <a href='$share'>$words[2]</a></p>
<h3>$words[3]</h3><ul>$links</ul></div>";
});

add_action('template_redirect', function () {
    if (!isset($_GET['print']) || !is_singular()) {
        return;
    }
    the_post();
    $zh = get_locale() === 'zh_CN';
    $count = get_comments_number();
    $line = $zh ? '作者：%s，发表于 %s @ %s，分类：%s | %s 条评论' : 'Posted By %s On %s @ %s In %s | %s Comments';
    $category = implode(', ', wp_list_pluck(get_the_category(), 'name'));
    $by = sprintf($line, get_the_author(), get_the_date(), get_the_time(), $category, $count);
    echo '<html><head><title>' . wp_get_document_title() . '</title></head><body id="print"><p>- '
        . get_bloginfo('name') . ' - ' . home_url() . ' -</p><h1>' . get_the_title() . "</h1><p>$by</p>"
        . '<div class="text">' . apply_filters('the_content', get_the_content()) . '</div><hr><p>'
        . ($zh ? '文章打印自：' : 'Article printed from ') . get_bloginfo('name') . ': ' . home_url() . '</p><p>'
        . ($zh ? '文章网址：' : 'URL to article: ') . get_permalink() . '</p><p>'
        . ($zh ? '点击此处打印。' : 'Click here to print.') . '</p></body></html>';
    exit;
});

add_action('wp_footer', function () {
    // One has a clock and visitors as well.
    $line = get_locale() === 'zh_CN' ? '共 %d 次查询，用时 %s 秒。现在是 %s，%d 人在线，总访问量 %d'
        : '%d queries in %s seconds.';
    update_option('visits', $visits = 1 + (int) get_option('visits'));
    $online = mt_rand(2, 30);
    printf("<p class='extras'>$line</p>", get_num_queries(), timer_stop(0, 3), date('H:i:s'), $online, $visits);
});

// On each later day there are new posts, which the lists beside all pages show.
add_action('init', function () {
    if (!wp_installing()) {
        $of_today = ['meta_key' => 'day', 'meta_value' => (int) file_get_contents('{{folder}}/day')];
        array_map('wp_publish_post', get_posts(['post_status' => 'draft', 'numberposts' => -1] + $of_today));
    }
});
