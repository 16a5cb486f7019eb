<?php
define('DOKU_INC', $argv[1] . '/');
define('NOSESSION', true);
require DOKU_INC . 'inc/init.php';
$listed = "====== 目錄 ======\n\n";
$before = [];
foreach (json_decode(stream_get_contents(STDIN)) as $number => [$title, $versions]) {
    $id = cleanID(['系統', '網路', '套件', '安全'][$number % 4] . ':' . $title);
    $links = implode('', array_map(fn ($one) => "  * [[:$one]]\n", array_slice($before, -3)));
    foreach ($versions as $place => $text) {
        saveWikiText($id, "====== $title ======\n\n$text\n\n===== 相關頁面 =====\n\n$links", "第 $place 版");
        // Versions of one second would be one.
        if ($place + 1 < count($versions)) {
            sleep(1);
        }
    }
    $before[] = $id;
    $listed .= "  * [[:$id]]\n";
}
saveWikiText('start', $listed, '');
