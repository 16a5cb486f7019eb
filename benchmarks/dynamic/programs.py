"""The web programs: what is installed, how it is started, and where it shows its contents."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from benchmarks.dynamic import php, python
from benchmarks.dynamic.place import Place
from benchmarks.dynamic.truth import Content


@dataclass(frozen=True, slots=True)
class Program:
    """A program: what it is, its Debian packages, how it is started, and where it shows its contents.

    *start* yields the path to begin at.  Links that match *deny* are not followed: forms for members.
    """

    kind: str
    packages: tuple[str, ...]
    start: Callable[[Place], AbstractContextManager[str]]
    content: Content
    deny: str = ""


_OF_BLOG = ("wordpress", "php-cli", "php-mysql", "mariadb-server")

PROGRAMS: dict[str, Program] = {
    "wordpress": Program(
        "blog",
        (*_OF_BLOG, "wordpress-theme-twentytwentyone", "python3.11-doc", "fortunes"),
        lambda place: php.wordpress(place, "en", "twentytwentyone", 66),
        Content(
            "body.single h1.entry-title, body.single .entry-content, body.page h1.entry-title, "
            "body.page .entry-content, #print h1, #print .text",
            ".comment-content",
            ".extras, .jp-relatedposts, .post-views",
        ),
        r"/wp-(admin|login|json)",
    ),
    "wordpress-zh": Program(
        "blog, Chinese",
        (
            *_OF_BLOG,
            "wordpress-l10n",
            "wordpress-theme-twentytwentythree",
            "debian-handbook",
            "fortunes-zh",
        ),
        lambda place: php.wordpress(place, "zh", "twentytwentythree", 66),
        Content(
            "body.single h1.wp-block-post-title, body.single .entry-content, "
            "body.page h1.wp-block-post-title, body.page .entry-content, #print h1, #print .text",
            ".wp-block-comment-content",
            ".extras",
        ),
        r"/wp-(admin|login|json)",
    ),
    "mediawiki": Program(
        "wiki",
        ("mediawiki", "php-cli", "php-sqlite3", "python3.11-doc"),
        lambda place: php.mediawiki(place, 60),
        Content(
            ".ns-0.action-view:not(:has(table.diff)) #firstHeading, .ns-0.action-view:not(:has(table.diff)) .mw-parser-output",
            "",
            ".mw-editsection, .printfooter, .mw-revision, .views, .catlinks",
        ),
        r"action=(edit|submit|raw|protect|delete|watch)|veaction|Special:|title=Special|feed=|/api\.php",
    ),
    "dokuwiki-zh": Program(
        "wiki, Chinese",
        ("dokuwiki", "php-cli", "debian-handbook"),
        lambda place: php.dokuwiki(place, 60),
        Content(".mode_show #dokuwiki__content div.page, div.dokuwiki.export", "", "#dw__toc, .dw__toc"),
        r"do=(edit|login|media|register|resendpwd|admin|profile|index|recent|backlink)|idx=|/lib/|/feed\.php|/_media|tab_|export_raw",
    ),
    "trac": Program(
        "tracker and wiki",
        ("python3.11-doc", "fortunes"),
        lambda place: python.trac(place, 70),
        Content(
            "#ticket h2, #ticket .summary, #ticket .description .searchable, #wikipage",
            ".change .comment",
            ".trac-modifiedby, .trac-time, .date, .buttons, .anchor, .inlinebuttons",
        ),
        r"/(login|prefs|about|newticket)|action=(edit|delete|rename|diff)|/timeline|format=|/raw-attachment",
    ),
    "machina": Program(
        "forum",
        ("python3.11-doc", "fortunes"),
        lambda place: python.machina(place, 60),
        Content("body:has(.post) #main_container h1, #print h1", ".post-content"),
        r"/(login|admin|feeds|post/create|topic/create)",
    ),
    "mezzanine-zh": Program(
        "CMS, Chinese",
        ("debian-handbook", "gimp-help-zh-cn", "fortunes-zh"),
        lambda place: python.mezzanine(place, 60),
        Content(
            ".subject, div.text, #print h2",
            ".comment p",
        ),
        r"/(admin|accounts|search)/|/feeds/|reply",
    ),
}
