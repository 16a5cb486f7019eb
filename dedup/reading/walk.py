"""What the walk over the tree of a page knows of tags, and what it reads: text, tags, title, links."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from html import unescape
from operator import itemgetter
from typing import Any, NamedTuple

from dedup.native import _pages as native
from dedup.native._pages import lines, rough_words

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
    # Where asked for, of each visible line its place, its text, and whether it is aside.
    placed: tuple[tuple[str, str, bool], ...] = ()


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
    lists: Any = walk.tags, walk.depths, walk.links, walk.alternates, walk.told, walk.places
    return Reading(text, inside, walk.title, walk.canonical, walk.language, *map(tuple, lists))


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


def places_of(placed: Sequence[tuple[str, str, bool]], text: str) -> tuple[str, ...]:
    """Return the place of each line of *text*, given those of `Reading.placed`.

    A place is the names of the innermost three elements around the line that are no parts of it, with
    their classes and ids as far as no digit is in them, but for those of ``html`` and ``body``, which
    name the kind of page, as "body>div#a>p.b"; "" where it is not known.
    """
    if "\n".join(map(itemgetter(1), placed)) == text:  # as of most pages: nothing was left out
        return tuple(map(itemgetter(0), placed))
    known: defaultdict[str, deque[str]] = defaultdict(deque)
    for place, line, _ in sorted(placed, key=itemgetter(2)):  # what is aside comes last, if at all
        known[line].append(place)
    return tuple(known[line].popleft() if known.get(line) else "" for line in text.split("\n"))


def step_of(tag: str, classes: str, name: str) -> str:
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
