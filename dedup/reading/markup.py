"""The markup of a page: its bytes, the tree that they are, and what a walk over that reads.

Time and memory grow in proportion to a page's size, at worst a microsecond and some 70 bytes of memory
for each byte (`python -m benchmarks.bombs`), so one limit on the size bounds both.  Two things grow
faster and are checked beforehand: the attributes of one tag, because libxml2 compares each new one
with all others, and characters that become many in Unicode's normal form.  Of a page that is too deep
libxml2 leaves out the rest.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from contextlib import suppress
from enum import StrEnum
from html import unescape
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

from lxml import etree
from w3lib.encoding import read_bom, resolve_encoding

from dedup.native import _pages as native
from dedup.native._pages import lines, rough_words
from dedup.reading.tokens import normalized

MAX_BYTES = 4_000_000  # a page of more bytes than this is not read, by default
MAX_ATTRIBUTES = 2000  # a tag of more attributes than this is not read
MAX_DEPTH = 2000  # a page with a deeper element is not read: some 50 levels below it libxml2 gives up


class Excess(StrEnum):
    """Which limit a page is over; the ends of stats."""

    BYTES = "bytes"
    ATTRIBUTES = "attributes"
    DEPTH = "depth"
    TEXT = "text"


EXCESSES = {
    Excess.BYTES: f"more than {MAX_BYTES:,} bytes",
    Excess.TEXT: f"text of more than {MAX_BYTES:,} bytes in Unicode's normal form",
    Excess.ATTRIBUTES: f"a tag of more than {MAX_ATTRIBUTES:,} attributes",
    Excess.DEPTH: f"elements in more than {MAX_DEPTH:,} others",
}
"""What a page over a limit has, in words."""

# It is written in ASCII, so it would pass for UTF-8; a page without these signs is none in it.
_SEVEN_BITS, _SHIFT = "iso2022_jp", b"\x1b"
# Enough to detect an encoding, and little enough that a page of 20 MB takes no longer.
_SAMPLE = 64 * 1024
# A declaration is believed while at most this share of the non-ASCII bytes cannot be decoded.
_MAX_BROKEN = 0.02

# Pages up to this size are not checked: the 16,000 attributes that they can hold take a third of a
# second.
SMALL = 64 * 1024
# An attribute is one character at least, and one that separates it from the next.
_LONG_TAG = 2 * MAX_ATTRIBUTES
_TAG = re.compile(rb"<[A-Za-z_:]")
# What begins behind an equals sign and has a > in it may be quoted, whichever quote it begins with.
_QUOTED = [re.compile(rb"=\s*+%b[^%b>]*+>[^%b]*+" % ((quote,) * 3)) for quote in (b'"', b"'")]
_MOST_EXPANDED = 33  # the most bytes that one character becomes, U+FDFA


def decode(body: bytes, declared: str | None = None) -> str:
    """Return the text of *body*; never raises, bytes that fit no encoding become U+FFFD.

    In this order: a byte order mark, valid UTF-8 (unless it declares ISO-2022-JP), *declared* (the HTTP
    header's charset), the page's own declaration, a guess from the bytes.  Encodings are read
    as the web reads them: gb2312 and gbk as gb18030, latin-1 as windows-1252.
    """
    return body.decode(encoding_of(body, declared), "replace").removeprefix("\ufeff")


def encoding_of(body: bytes, declared: str | None = None) -> str:
    """Return the name of the codec that `decode` uses."""
    marked, _ = read_bom(body)
    if marked:
        return marked
    if _is_utf8(body):
        return _SEVEN_BITS if is_shifted(body, declared) else "utf-8"
    for name in (declared, _own_declaration(body)):
        encoding = resolve_encoding(name) if name else None
        if encoding and _fits(body, encoding):
            return encoding
    from bs4.dammit import UnicodeDammit  # few pages need it, and it takes a tenth of a second

    guessed = UnicodeDammit(body[:_SAMPLE], is_html=True).original_encoding
    return (resolve_encoding(guessed) if guessed else None) or "cp1252"


def is_shifted(body: bytes, declared: str | None = None) -> bool:
    """Return whether *body* is ISO-2022-JP, and says so or is *declared* so."""
    if _SHIFT not in body or not body.isascii():
        return False
    names = filter(None, (declared, _own_declaration(body)))
    return any(resolve_encoding(name) == _SEVEN_BITS for name in names) and _fits(body, _SEVEN_BITS)


def _is_utf8(body: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        body.decode("utf-8")
        return True
    return False


def _own_declaration(body: bytes) -> str | None:
    from bs4.dammit import EncodingDetector

    return EncodingDetector.find_declared_encoding(body[:_SAMPLE], is_html=True)


def _fits(body: bytes, encoding: str) -> bool:
    sample = body[:_SAMPLE]
    try:
        text = sample.decode(encoding, "replace")
    except (LookupError, ValueError):
        return False
    of_ascii = len(sample.decode("ascii", "ignore"))
    # Punycode, on Python 3.13, makes no text at all of one.
    return text != "" and text.count("\ufffd") <= 1 + _MAX_BROKEN * (len(sample) - of_ascii)


def markup_of(text: str) -> bytes:
    """Return the HTML *text* as Scrapy gives it to the parser, so that both make the same tree."""
    return text.strip().replace("\x00", "").encode("utf-8", "replace")


def markup_in(body: bytes | str, encoding: str | None) -> bytes:
    """Return `markup_of` what *body* says; most pages are just that, but for white space around them."""
    if isinstance(body, str):
        return markup_of(body)
    stripped = body.strip()
    # Without NUL, white space of Unicode and a byte order mark, UTF-8 stays as it is.
    ends_visibly = stripped != b"" and all(0x21 <= stripped[end] <= 0x7E for end in (0, -1))
    is_plain = ends_visibly and b"\0" not in stripped and _is_utf8(stripped)
    is_plain = is_plain and not is_shifted(stripped, encoding)
    return stripped if is_plain else markup_of(decode(body, encoding))


def tree_of(markup: bytes) -> Any:
    """Return the root of the document in *markup*, None where nothing in it could be an element."""
    # An eighth of the time goes into a table of ids, which nobody asks for.
    return _parsed(markup, collect_ids=False)


def _parsed(markup: bytes, **how: Any) -> Any:
    parser = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True, **how)
    with suppress(etree.ParserError, etree.XMLSyntaxError):
        return etree.fromstring(markup, parser)
    return None


def has_flood(markup: bytes) -> bool:
    """Return whether a tag in *markup*, UTF-8, has more than `MAX_ATTRIBUTES` attributes."""
    if len(markup) <= SMALL or not _may_have_long_tag(markup):
        return False
    try:
        _parsed(markup, target=_TagReader())
    except OverflowError:
        return True
    return False


def _may_have_long_tag(markup: bytes) -> bool:
    """Return False only if every tag ends within `_LONG_TAG` bytes, so that no parser is needed.

    A tag ends at the first ``>`` outside quotes.  Only a parser knows where quotes begin, so every ``>``
    that could be inside quotes is treated as if it were.
    """
    for quoted in _QUOTED:
        markup = quoted.sub(lambda found: found[0].replace(b">", b" "), markup)
    begin = end = 0
    while end >= 0 and len(markup) - begin > _LONG_TAG:  # of nearly all pages to their ends
        end = markup.rfind(b">", begin, begin + _LONG_TAG + 1)
        begin = end + 1
    if end >= 0:
        return False
    long_parts = (part for part in markup.split(b">") if len(part) > _LONG_TAG)
    return any(_TAG.search(part, 0, len(part) - _LONG_TAG + 1) for part in long_parts)


class _TagReader:
    """Takes the tags from the parser, which makes no tree; ends it at the first flood."""

    def start(self, _tag: str, attributes: Any) -> None:
        if len(attributes) > MAX_ATTRIBUTES:
            raise OverflowError

    def close(self) -> None:
        """Required of a parser's target."""


def is_too_long(text: str) -> bool:
    """Return whether the normal form of *text* has more than `MAX_BYTES` bytes in UTF-8."""
    if (size := len(text)) * _MOST_EXPANDED <= MAX_BYTES or text.isascii():
        return size > MAX_BYTES
    others = len(text.encode("utf-8", "surrogatepass")) - size  # or fewer are not of ASCII
    may_be = size + others * _MOST_EXPANDED > MAX_BYTES
    return may_be and len(normalized(text).encode("utf-8", "surrogatepass")) > MAX_BYTES


# The walk over the tree: what it knows of tags, and what it reads

# Not `head`: where its end is left out, as HTML allows, libxml2 puts `main` and all that is in it there.
# How a word sounds is above it (`rt`), and again in its text nowhere.
INVISIBLE = frozenset(["rp", "rt", "rtc", "script", "style", "title"])
# What is shown in place of something else, or when a script likes; of drawings what is told about them.
_FALLBACKS = "audio canvas datalist desc iframe metadata noframes noscript template video"
FALLBACKS = frozenset(_FALLBACKS.split())
# What is in them is a document of its own, which libxml2 2.14 gives as it is written.
DOCUMENTS = frozenset(["iframe", "noframes"])
# Where the title of a page is; behind a first ``</html>`` there is no `head`.
HEADS = frozenset(["head", "html"])
DRAWINGS = frozenset(["g", "svg", "symbol"])  # where the title of an icon is
BOILERPLATE = frozenset(["aside", "footer", "header", "nav"])
BOILERPLATE_ROLES = frozenset(["banner", "complementary", "contentinfo", "navigation", "search"])
# Elements and roles.  A header inside of these has the heading of a text, not the frame of a site
# (W3C, HTML Accessibility API Mappings).
TEXTS = frozenset(["article", "main"])
CONTROLS = frozenset(["a", "button", "select"])  # what menus are made of
# Tags inside a line of text; every other tag begins and ends a line.
_INLINE = """
a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark meter nobr output
q rb rp rt rtc ruby s samp small span strike strong sub sup svg time tt u var wbr
"""
INLINE = frozenset(_INLINE.split())

MIN_MAIN_WORDS = 20  # with less text than this outside boilerplate, the boilerplate is the page
# With less of all words but menus outside boilerplate, a text is in an element of the wrong kind.
MIN_MAIN_SHARE = 0.10
MIN_FALLBACK_WORDS = 40  # fallbacks of fewer words only ask for scripts or another browser
# A page that shows fewer words is judged by its bytes; with a fallback beside them it would be a copy of
# all pages of its site that ask for scripts.
MIN_SHOWN_WORDS = 4

TITLE = "title"  # the place of the title of a page
_LONGEST_STEP = 60  # so many characters of each element around a line tell its place
_DIGIT = re.compile(r"[0-9]")

# The bars, dots and arrows that are between the links of a menu.
_SEPARATOR = re.compile(r"(?<!\S)[^\w\s]++(?!\S)")
# A tag, or a script or style from its begin to where it ends.
_MARKUP = re.compile(r"<(script|style)\b(?:[^<]|<(?!/\1))*+|<[^<>]*+>", re.IGNORECASE)


Placed = tuple[tuple[str, ...], bytes, str]


class Reading(NamedTuple):
    """What a walk over a tree reads, with the names of `dedup.reading.page.Page`."""

    text: str
    inside: int | None
    title: str  # this, the next two and the alternates as they were written
    canonical_link: str
    language: str
    tags: tuple[str, ...]
    depths: tuple[int, ...]
    links: tuple[str, ...]
    alternates: tuple[tuple[str, str], ...] = ()  # the language and the address of each
    told: tuple[str, ...] = ()  # what pictures say in 40 characters or more
    # Where asked for, the place of each visible line, whether it is aside, and all lines.
    placed: Placed = ((), b"", "")


def reading_of(root: Any, *, with_places: bool = False) -> Reading:
    """Return what is read of the lxml tree under *root*, which is not changed, and of what follows it.

    The text is what a reader sees, without `BOILERPLATE` elements and roles; with all of it where fewer
    than `MIN_MAIN_WORDS` are left.  `FALLBACKS` follow if they have `MIN_FALLBACK_WORDS` together, and
    the text `MIN_SHOWN_WORDS`.
    """
    walk = native.Walk(root, step=step_of if with_places else None)
    text, inside = _shown(walk, root)
    if rough_words(walk.fallbacks) >= MIN_FALLBACK_WORDS and rough_words(text) >= MIN_SHOWN_WORDS:
        text = f"{text}\n{lines(walk.fallbacks)}"
    lists: Any = walk.tags, walk.depths, walk.links, walk.alternates, walk.told
    placed = tuple(walk.places), bytes(walk.asides), walk.said
    told = text, inside, walk.title, walk.canonical, walk.language
    return Reading._make((*told, *map(tuple, lists), placed))


def _shown(walk: native.Walk, root: Any) -> tuple[str, int | None]:
    """Return the text without fallbacks, and how many words are outside of the frame if it is read.

    Where the text is less than `MIN_MAIN_SHARE` of the words that are not in `CONTROLS`, it is in an
    element of the wrong kind, and what is in these follows, without menus.
    """
    if walk.main is None:
        return lines(walk.text), None
    words = rough_words(walk.main)
    if words < MIN_MAIN_WORDS:
        return lines(walk.text), max(1, int(words))
    text, share = lines(walk.main), MIN_MAIN_SHARE
    # A word and the space after it are two characters at least: mostly no words need be counted.
    if words < share * (len(walk.text) / 2 + 1) and words < share * rough_words(walk.text):
        aside = lines(native.Walk(root, has_controls=False).aside)
        if words < share * (words + rough_words(_SEPARATOR.sub("", aside))):
            return f"{text}\n{aside}", None
    return text, None


def all_roots(root: Any) -> list[Any]:
    """Return the *root* of a document with what is behind it; of an element in one, only that.

    libxml2 makes another root of what is after a first ``</html>``.
    """
    if root is None:
        return []
    return [root] if root.getparent() is not None else [root, *root.itersiblings("*")]


def places_of(placed: Placed, text: str) -> tuple[str, ...]:
    """Return the place of each line of *text*, given those of `Reading.placed`.

    A place is the names of the innermost three elements around the line that are no parts of it, with
    their classes and ids as far as no digit is in them, but for those of ``html`` and ``body``, which
    name the kind of page, as "body>div#a>p.b"; "" where it is not known.
    """
    places, asides, said = placed
    if said == text:  # as of most pages: nothing was left out, or what is aside
        return places
    shown, inner = said.split("\n"), [not one for one in asides]
    if "\n".join(compress(shown, inner)) == text:
        return tuple(compress(places, inner))
    known: defaultdict[str, deque[str]] = defaultdict(deque)
    # What is aside comes last.
    for _, place, line in sorted(zip(asides, places, shown, strict=True), key=itemgetter(0)):
        known[line].append(place)
    return tuple(known[line].popleft() if known.get(line) else "" for line in text.split("\n"))


def step_of(tag: str, classes: str = "", name: str = "") -> str:
    """Return the part of a place that an element is, given its *tag*, *classes* and id."""
    if tag in ("html", "body"):
        return tag
    named = [f".{one}" for one in classes.split() if not _DIGIT.search(one)]
    if name and not _DIGIT.search(name):
        named.insert(0, f"#{name}")
    step = tag[:_LONGEST_STEP]
    for one in named:  # a part of a class would select nothing
        step += one if len(step) + len(one) <= _LONGEST_STEP else ""
    return step


def words_in(attribute: str, text: str) -> str:
    """Return the words of the document that an element has in an *attribute*, and as its *text*."""
    return unescape(_MARKUP.sub("\x1e", f"{attribute} {text}"))


_BITS: Counter[str] = Counter()
for _bit, _tags in {
    native.OF_TEXT: TEXTS,
    native.ASIDE: BOILERPLATE,
    native.FALLBACK: FALLBACKS,
    native.HIDDEN: INVISIBLE,
    native.INLINE: INLINE,
    native.CONTROL: CONTROLS,
    native.DOCUMENT: DOCUMENTS,
    native.HEAD: HEADS,
    native.DRAWING: DRAWINGS,
    native.LINKS: ["a", "area"],
    native.TITLE: ["title"],
    native.LINK: ["link"],
    native.HEADER: ["header"],
    native.TEMPLATE: ["template"],
    native.LINE: ["br"],
    native.PICTURE: ["img"],
}.items():
    _BITS.update(dict.fromkeys(_tags, _bit))
_STATES = dict.fromkeys(TEXTS, native.OF_TEXT) | dict.fromkeys(BOILERPLATE_ROLES, native.ASIDE)
native.take_tags(_BITS, _STATES, words_in)
