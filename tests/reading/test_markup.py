"""What a reader or a selector sees of a page is what is judged, whatever its encoding, however sloppy it is.

What is not read is judged by its bytes alone.
"""

import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsel import Selector

from dedup import Detector, MemoryIndex, Page, Reason, compare, fingerprint
from dedup.reading import markup
from dedup.reading.markup import MAX_ATTRIBUTES, MAX_DEPTH, Excess, decode, encoding_of
from dedup.reading.tokens import normalized, tokens
from tests.support.crawling import bounds
from tests.support.pages import text

ZH = "凯斯特雷尔角的灯塔建成于一八六四年秋天，守塔人每夜要爬四次台阶。"


@pytest.mark.parametrize(
    ("body", "declared", "encoding"),
    [
        (ZH.encode(), None, "utf-8"),
        (ZH.encode("gb18030"), "gb2312", "gb18030"),
        (b'<meta charset="gb2312">' + ZH.encode("gb18030"), None, "gb18030"),
        (b'<meta charset="gbk">' + ZH.encode(), None, "utf-8"),
        (ZH.encode(), "iso-8859-1", "utf-8"),
        (ZH.encode("gb18030"), "utf-8", "gb18030"),
        (ZH.encode("utf-16"), None, "utf-16-le"),
        (b"\xef\xbb\xbf" + ZH.encode(), "gbk", "utf-8"),
        ("“déjà”".encode("cp1252"), "iso-8859-1", "cp1252"),
        ("日本語のページ".encode("shift_jis"), "shift_jis", "cp932"),
        (b"plain", "no-such-charset", "utf-8"),
    ],
)
def test_encodings_as_the_web_has_them(body: bytes, declared: str | None, encoding: str) -> None:
    assert encoding_of(body, declared) == encoding


def test_one_broken_byte_does_not_change_the_encoding_and_without_a_charset_it_is_guessed() -> None:
    body = (ZH * 20).encode() + b"\xff" + ZH.encode()
    assert encoding_of(body, "utf-8") == "utf-8"
    assert decode(body, "utf-8").count("\ufffd") == 1
    assert decode((ZH * 10).encode("gb18030")) == ZH * 10


ENDS = st.sampled_from(
    [b"", b" ", b"\xc2\xa0", b"\xe3\x80\x80", b"\x1c", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"<p>"]
)
MIDDLES = st.binary(max_size=30) | st.text(max_size=20).map(lambda said: said.encode("utf-8", "replace"))


@given(ENDS, MIDDLES, ENDS)
def test_the_markup_of_plain_bytes_is_that_of_text(begin: bytes, middle: bytes, end: bytes) -> None:
    body = begin + middle + end
    assert markup.markup_in(body, None) == markup.markup_of(decode(body))


LIMIT = 1000
FILL = b"<p>" + b"much ado about nothing " * 6000


def tag(attributes: int, form: str = "x{}=1") -> bytes:
    return f"<p {' '.join(map(form.format, range(attributes)))}>".encode()


@pytest.mark.parametrize("seed", range(40))
def test_tags_are_long_by_steps_as_by_their_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "_LONG_TAG", 20)
    page = b"".join(Random(seed).choices((b"<p a", b">", b"some word", b"<", b" "), k=60))
    long = [part for part in page.split(b">") if re.search(rb"<[a-z]", part[:-19])]
    assert markup._may_have_long_tag(page) == bool(long)


@pytest.mark.parametrize(
    "form", ["x{}", "x{}=1", "x{}='>'", 'x{}=">"', "x{}='<b>'", 'x{} = "a>b\'"', "x{}=' > \" > '"]
)
@pytest.mark.parametrize(
    "before", [b"", b"<!-- <a b='", b"<script>x='<a b=\"'</script>", b"<a b=\"'>", b"<a b'>", b"= \" ' "]
)
def test_finds_a_tag_of_too_many_attributes_wherever_it_hides(form: str, before: bytes) -> None:
    page = FILL + before + b"-->'\">"
    assert markup.has_flood(page + tag(MAX_ATTRIBUTES + 1, form) + FILL)
    assert not markup.has_flood(page + tag(MAX_ATTRIBUTES, form) * 2 + FILL)


@pytest.mark.parametrize(
    "html",
    [
        FILL + b"<img src='data:," + b"A/==" * 50_000 + b"'>",
        FILL + b"<script>if (a<b) x = '" + b"a = 1 " * 50_000 + b"'</script>",
        FILL + b"<p>" + b"1 <2 and a <b = c " * 20_000,
        FILL + b'<p title="' + b"word " * 50_000 + b'">',
        FILL + b"<p a=1 b=2 c=3 d=4>" * 20_000,
        tag(MAX_ATTRIBUTES + 1, "x{}"),  # a small page may have what tags it likes
    ],
    ids=range(6),
)
def test_what_is_long_but_no_flood_of_attributes_is_read(html: bytes) -> None:
    assert Page.from_html(html).excess is None


@given(st.text("a\u0301\ufdfa\u3300İé ", max_size=60), st.integers(0, 300))
def test_text_is_measured_in_its_normal_form(said: str, limit: int) -> None:
    with bounds(MAX_BYTES=limit):
        found = markup.is_too_long(said)
    assert found == (len(normalized(said).encode()) > limit or len(said) > limit)


@pytest.mark.parametrize(
    ("read", "excess"),
    [
        (lambda: Page.from_html(b"a" * LIMIT), None),
        (lambda: Page.from_html(b"a" * (LIMIT + 1)), Excess.BYTES),
        (lambda: Page.from_html("é" * (LIMIT // 2 + 1)), Excess.BYTES),
        (lambda: Page.from_text("é" * (LIMIT // 2 + 1)), Excess.BYTES),
        (lambda: Page.from_tree(None, body=b"a" * (LIMIT + 1)), Excess.BYTES),
        (lambda: Page.from_html("\ufdfa" * 100), Excess.TEXT),
        (lambda: Page.from_text("\ufdfa" * 100), Excess.TEXT),
    ],
)
def test_a_page_of_more_bytes_has_only_a_digest(read: Callable[[], Page], excess: Excess | None) -> None:
    with bounds(MAX_BYTES=LIMIT):
        page = read()
    assert (page.excess, is_only_a_digest(page)) == (excess, bool(excess))


@pytest.mark.parametrize(
    ("html", "excess"),
    [(FILL + tag(MAX_ATTRIBUTES + 1), Excess.ATTRIBUTES), (b"<b>" * MAX_DEPTH + FILL, Excess.DEPTH)],
    ids=["attributes", "depth"],
)
def test_so_has_a_page_over_another_limit(html: bytes, excess: Excess) -> None:
    page = Page.from_html(html)
    assert (page.excess, is_only_a_digest(page)) == (excess, True)


def is_only_a_digest(page: Page) -> bool:
    found = fingerprint(page)
    assert found.body_digest
    told = (page.text, page.tags, found.content_simhash, found.structure_simhash, found.tokens)
    return told == ("", (), 0, 0, 0)


def text_of(html: str) -> str:
    return Page.from_html(f"<body>{html}</body>").text


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ("<p>H<b>e</b>llo <i>you</i></p>", "Hello you"),
        ("<p>  many \n spaces\t</p>", "many spaces"),
        ("a<script>x()</script>b<style>p{}</style>c", "abc"),
        ("a<!-- no -->b<?php no ?>c", "abc"),
        ("a\0b", "ab"),
        ("<p hidden>a script shows it</p>yes", "a script shows it\nyes"),
        ("<noscript>no</noscript><template>no</template>yes", "yes"),
        ("a<svg><title>no</title><text>b</text></svg>c", "a\nb\nc"),
        ("<x-y><template shadowrootmode=open><p>one</p></template>two</x-y>", "one\ntwo"),
        ("東京<br>の 朝、\n晴れ\n のち\u3000雨<br/>\nです", "東京の 朝、 晴れのち 雨です"),
        ("一<br><br>二<p>三\na\n四<br>b", "一\n二\n三 a 四\nb"),
        ("<ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>へ", "港へ"),
        ("<ruby>港<rp>(<rt>みなと<rp>)</ruby>へ<ruby><rb>行<rtc><rt>い</rtc></ruby>く", "港へ行く"),
    ],
)
def test_visible_text(html: str, said: str) -> None:
    assert text_of(html) == said


# Tags and words of broken pages: a new libxml2 that differs fails here first.
BROKEN = {
    "misnested": (
        "<b><p>one</b> two<i>three</p> four</i><div>five",
        "html body b p i div",
        "one twothree four five",
    ),
    "unclosed": (
        "<ul><li>one<li>two<ul><li>three</ul><li>four<p>five<table><tr><td>six<td>seven<tr><td>eight",
        "html body ul li li ul li li p table tr td td tr td",
        "one two three four five six seven eight",
    ),
    "attributes": (
        "<p class='a' class='b' id=x/>one<a href='x>two</a><p>three' title=\"four\">five</a><br/>six",
        "html body p a br",
        "onefive six",
    ),
    "entities": (
        "one &amp two &nosuch; three &#x4E00;&#0; &lt;b&gt; caf&eacute",
        "html body",
        "one & two &nosuch three 一 � <b> café",
    ),
    "modern": (
        "<main><custom-tag>one</custom-tag><section><details><summary>two</summary>three</details></section><svg><title>no</title><path/></svg></main>",
        "html body main custom-tag section details summary svg title path",
        "one two three",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_tags_and_words_of_a_broken_page_are_pinned(name: str) -> None:
    html, tags, words = BROKEN[name]
    page = Page.from_html(html)
    assert (" ".join(page.tags), " ".join(tokens(page.text))) == (tags, words)


ARTICLE = "<p>" + "word " * 30 + "</p>"


def test_boilerplate_is_left_out_beside_enough_text() -> None:
    assert text_of(f"<nav>menu</nav>tail{ARTICLE}") == f"tail\n{text_of(ARTICLE)}"
    assert text_of("<nav>menu</nav><p>few words only</p>") == "menu\nfew words only"
    menu = "<nav><a href=/>menu</a> or</nav>"
    assert text_of(menu + "<p>" + "word " * 19) == "menu or\n" + "word " * 18 + "word"
    assert text_of(menu + "<p>" + "word " * 20) == "word " * 19 + "word"


TEXTS = ["article", "main", "div role=main", "section role='none ARTICLE'"]


def inside(tags: list[str], html: str) -> str:
    begin = "".join(f"<{tag}>" for tag in tags)
    return begin + html + "".join(f"</{tag.split()[0]}>" for tag in reversed(tags))


regions = st.lists(st.sampled_from(["div", "section"]), max_size=3)


@given(regions, st.sampled_from(TEXTS), regions)
def test_the_header_of_a_text_is_text(around: list[str], tag: str, between: list[str]) -> None:
    header = "<header><h1>heading</h1><nav>menu</nav><p role=search>field</p></header>"
    html = inside([*around, tag, *between], header + ARTICLE)
    assert text_of(html) == "heading\n" + text_of(ARTICLE)
    # The same header before the text, and behind it, is that of the site.
    assert text_of(header + html + header) == text_of(html)


@given(
    regions,
    st.sampled_from(["aside", "nav", "footer", "div role=complementary", "header role=banner"]),
    regions,
)
def test_headers_of_boilerplate_are_boilerplate(around: list[str], tag: str, between: list[str]) -> None:
    html = inside([*around, tag, *between], "<article><header>heading</header></article>")
    assert text_of(f"<main>{html}{ARTICLE}</main>") == text_of(ARTICLE)


FRAMES = ["nav", "aside", "header", "footer", "div role=navigation", "div role=banner"]
OWN = "Children under six come in free. " * 6  # 36 words, below a tenth of what follows


@pytest.mark.parametrize(
    "menu",
    [
        "<li><a href=/{0}>menu {0}</a>",
        "<a href=/{0}>menu {0}</a> | ",
        "<a href=/{0}>menu {0}</a> · ",
        "<div><a href=/{0}><b>menu</b> <span>{0}</span></a></div> &gt; ",
        "<button>menu {0}</button>",
        "<select><option>menu {0}<option>{0}</select>",
    ],
)
@pytest.mark.parametrize("tag", FRAMES)
def test_a_few_words_beside_a_long_menu_are_judged_without_it(tag: str, menu: str) -> None:
    menus = inside([tag], "".join(map(menu.format, range(250))))
    assert text_of(f"{menus}<p>{OWN}</p>") == text_of(f"<p>{OWN}</p>{menus}") == OWN.strip()


@pytest.mark.parametrize("tag", FRAMES)
@pytest.mark.parametrize("whole", ["<p>{}</p>", "<a name=top>{}</a>", "<article>{}</article>"])
def test_a_text_in_a_wrong_element_is_judged_without_the_menu(tag: str, whole: str) -> None:
    lines = [f"line {number} of the text" for number in range(100)]
    long, common = whole.format("<p>".join(lines)) + "<a href=/>menu</a>", f"<p>{OWN}</p>"
    assert text_of(inside([tag], long) + common) == "\n".join([OWN.strip(), *lines])
    # Less than nine times as long as the rest, it is boilerplate as any other.
    short = whole.format("<p>".join(lines[:50])) + "<a href=/>menu</a>"
    assert text_of(inside([tag], short) + common) == OWN.strip()


@given(st.lists(st.sampled_from(["nav", "aside", "header", "main", "article", "a href=/", "a", "p"])))
def test_any_nesting_has_the_words_outside_boilerplate(tags: list[str]) -> None:
    found = text_of(inside(tags, "within " * 300) + ARTICLE).split()
    assert found.count("word") == 30
    assert found.count("within") in (0, 300)


HEADER = (
    "<div class=site><a href=/>The lantern keepers of Tallow Bay</a> write here on lamps, tides, ropes "
    "and all that is washed ashore, every other week since the year of the great storm</div>"
)
BEGIN = f"<html><head><title>Tallow Bay</title></head><body>{HEADER}"
NOTICE = "<noscript>Please enable JavaScript to run this page.</noscript>"

# In each shape a header of the site, and somewhere words that no other page has.
SHAPES: dict[str, str] = {
    "behind the end": BEGIN + "</body></html><div><p>{words}</p></div>",
    "plain text behind the end": BEGIN + "</body></html>{words}",
    "the end in an open element": BEGIN + "<div><section></html><p>{words}</p></section></div>",
    "the end in a cell": BEGIN + "<table><tr><td>Cell</html><p>{words}</p></td><td>c</td></tr></table>",
    "two documents": BEGIN + "</body></html><!DOCTYPE html><html><head><title>t</title></head>"
    "<body><p>{words}</p></body></html>",
    "three documents and comments": BEGIN + "</html><!-- --><html><body></body></html><!-- -->"
    "<html><body><p>{words}</p></body></html>",
    "an end before the body": f"<html><head></head></html><body>{HEADER}<p>{{words}}</p></body>",
    "no body and no end of the head": f"<!doctype html><title>Tallow Bay</title><main>{HEADER}"
    "<p>{words}</p></main>",
    "no body and a head that is empty": f"<meta charset=utf-8><section>{HEADER}</section>"
    "<article>{words}</article>",
    "noscript": BEGIN + "<div id=app></div><noscript><p>{words}</p></noscript></body></html>",
    "noscript in the head": f"<head><noscript><p>{{words}}</p></noscript></head><body>{HEADER}",
    "noscript without an end": BEGIN + "<noscript><img src=x><p>{words}</p></body></html>",
    "a shadow tree": BEGIN
    + NOTICE
    + "<x-post><template shadowrootmode=open><p>{words}</p></template></x-post>",
    "a template": BEGIN + "<template><p>{words}</p></template>",
    "a drawing": BEGIN + "<svg><title>Chart</title><g><text>{words}</text></g></svg>",
    "what is told about a drawing": BEGIN + "<svg><desc>{words}</desc><path d=''/></svg>",
    "a foreign object": BEGIN + "<svg><foreignObject><p>{words}</p></foreignObject></svg>",
    "noframes": BEGIN + "<noframes><p>{words}</p></noframes>",
    "an inner frame": BEGIN + "<iframe src=/x><p>{words}</p></iframe>",
    "an inner frame that ends itself": BEGIN + "<iframe src=x/><p>{words}</p></body></html>",
    "an inner frame with its source": BEGIN
    + '<iframe srcdoc="<style>p {{}}</style><p>{words}</p>"></iframe>',
    "a video that ends itself": BEGIN + "<video src=x/><p>{words}</p></body></html>",
    "in a canvas": BEGIN + "<canvas><p>{words}</p></canvas>",
    "a list of choices": BEGIN + "<input list=x><datalist id=x><option>{words}</datalist>",
    "a title in the body": BEGIN + "<p>Post</p><title>{words}</title>",
    "text fields": BEGIN + "<textarea>{words}</textarea>",
    "a comment for browsers of old": BEGIN + "<!--[if !IE]><!--><p>{words}</p><!--<![endif]-->",
    "plain text to the end": BEGIN + "<plaintext>{words}",
    "an example": BEGIN + "<xmp>{words}</xmp>",
    "forms in forms": BEGIN + "<form><form><p>{words}</form></form>",
    "an object": BEGIN + "<object data=/x><embed src=/x><p>{words}</p></object>",
    "too deep": BEGIN + "<div>" * 3000 + "<p>{words}</p></body></html>",
}

TAGS = "html head body p b div td table title main svg text frameset x-y".split()
markups = st.lists(
    st.sampled_from(
        [*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "</html>", "</html>", "<!-- -->"]
        + ["<script>no</script>", "<!DOCTYPE html>", "<?x y>", "<br/>"]
        + [f" word{number} " for number in range(9)]
    ),
    max_size=30,
).map("".join)
SEEN = "//text()[not(ancestor::script or ancestor::title or ancestor::style)]"


def both_doors(html: str) -> list[Page]:
    """Return the page of *html*, and that of the tree that Scrapy makes of it."""
    root = Selector(text=html, type="html").root
    return [Page.from_html(html), Page.from_tree(root, body=html.encode())]


@given(markups)
def test_what_selectors_see_is_read(html: str) -> None:
    seen = set(re.findall(r"word\d", " ".join(Selector(text=html, type="html").xpath(SEEN).getall())))
    for page in both_doors(html):
        assert seen <= set(re.findall(r"word\d", page.text))


@pytest.mark.parametrize("shape", SHAPES)
def test_pages_with_words_of_their_own_are_kept(shape: str) -> None:
    with MemoryIndex() as index, Detector(index) as detector:
        for number in range(6):
            html = SHAPES[shape].format(words=text(number, 240))
            for door, page in enumerate(both_doors(html)):
                verdict = detector.check(page.at(f"http://a/{door}/{number}", html))
                assert verdict.reason is (Reason.EXACT_DUPLICATE if door else Reason.NEW)
                if page.excess is None:
                    assert set(text(number, 240).split()) <= set(page.text.split())


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "too deep"])
def test_a_copy_of_a_sloppy_page_is_found(shape: str) -> None:
    one, other = (Page.from_html(SHAPES[shape].format(words=text(1, 240) + it)) for it in ("", " more"))
    assert compare(one, other).reason is Reason.NEAR_DUPLICATE


def notice(tag: str, words: int) -> str:
    return f"<{tag}>{'enable ' * words}</{tag}>"


@pytest.mark.parametrize("tag", sorted(markup.FALLBACKS))
def test_a_fallback_is_text_beside_text_if_it_is_more_than_a_notice(tag: str) -> None:
    shown = "<p>" + "word " * markup.MIN_SHOWN_WORDS
    assert "enable" not in Page.from_html(shown + notice(tag, markup.MIN_FALLBACK_WORDS - 1)).text
    assert Page.from_html(shown + notice(tag, markup.MIN_FALLBACK_WORDS)).text.split()[-1] == "enable"
    little = "<p>" + "word " * (markup.MIN_SHOWN_WORDS - 1)
    assert "enable" not in Page.from_html(little + notice(tag, markup.MIN_FALLBACK_WORDS)).text


@pytest.mark.parametrize("words", [8, 38, 60])
def test_shells_that_ask_for_scripts_are_no_copies_of_each_other(words: int) -> None:
    one, other = (
        Page.from_html(f"<body><div id=app></div>{notice('noscript', words)}<script>x({n})</script>")
        for n in range(2)
    )
    assert compare(one, other).reason is Reason.NEW


def test_all_roots_of_a_document_are_read_but_only_the_part_that_is_asked_for() -> None:
    root = Selector(text="<!-- --><html><body><p>one</p></html>two<p>three", type="html").root
    assert Page.from_tree(root, body=b"").text.split() == ["one", "two", "three"]
    (part,) = root.xpath("//body")[:1]
    assert Page.from_tree(part, body=b"").text == "one"


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
@pytest.mark.parametrize("begin", ["<html><body>", "<html><body></html><html><body>"])
def test_a_page_that_the_parser_may_have_given_up_on_is_not_read(depth: int, begin: str) -> None:
    html = begin + "<div>" * (depth - 2) + "<p>bottom"
    for page in both_doors(html):
        assert page.excess == (Excess.DEPTH if depth > MAX_DEPTH else None)
        assert ("bottom" in page.text) == (depth <= MAX_DEPTH)


@pytest.mark.parametrize("tag", ["b", "i", "svg", "x-y", "span", "object"])
def test_whatever_the_parser_leaves_out_below_is_noticed(tag: str) -> None:
    for levels in (2040, 2048, 2060, 9000):
        for page in both_doors(BEGIN + f"<{tag}>" * levels + "the bottom" + NOTICE):
            assert page.excess is Excess.DEPTH


@pytest.mark.parametrize(
    "odd",
    [
        "\0",
        "".join(map(chr, range(1, 32))),
        "\x7f\x80\x9f\ufeff\ufffe\uffff\U0010ffff\ud800",
        "&#0;&#1;&#xd800;&#x110000;&#99999999999999999999;&;&#;&#x;&amp",
        "&" + "a" * 70_000 + ";",
        "<meta charset=utf-16>\xe9",
        "<meta http-equiv=content-type content='text/html; charset=gb2312'>\u6c49",
        "<?xml version='1.0' encoding='utf-32'?>",
        "<!DOCTYPE html [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]>&c;",
        "<![CDATA[x]]><!x><!-><!--><!---><!-- --!></ ></><1><$a>",
        "<a" + "b" * 70_000 + ">",
        "<a " + "b" * 70_000 + ">",
        "<x:y z:a=1 xmlns='&#0;'>",
        "<base href='http://['><isindex><frame><frameset></frameset>",
        "</body></html></p></td></html>",
    ],
)
def test_nothing_in_the_middle_of_a_page_hides_the_rest(odd: str) -> None:
    html = f"{BEGIN}<p>before</p>{odd}<p>{text(1)}</p>"
    for page in both_doors(html) if "\ud800" not in odd else [Page.from_html(html)]:
        assert set(text(1).split()) <= set(page.text.split())


def test_markup_in_an_inner_frame_takes_time_in_proportion_to_its_size() -> None:
    for part in ("<", "<script", "<script>", "<a b", "&", "<style><", "</script"):
        assert Page.from_html(f"<p>some words of a page<iframe>{part * 60_000}</iframe>").body_digest
