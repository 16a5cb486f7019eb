<?php
// A counter such as extensions show, and the old look, of which more stands on a page.
$wgDefaultSkin = 'vector';
$wgHooks['SkinAfterContent'][] = function (&$data, $skin) {
    $file = '{{folder}}/views-' . md5($skin->getTitle()->getPrefixedText());
    $views = 1 + (int) @file_get_contents($file);
    file_put_contents($file, $views);
    $data .= "<p class='views'>This page has been accessed $views times.</p>";
};
