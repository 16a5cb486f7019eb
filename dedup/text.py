"""One walk over a parsed page: its visible text, its tags, its title, its links."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lxml import etree

INVISIBLE = frozenset(
    [
        "audio",
        "canvas",
        "datalist",
        "head",
        "iframe",
        "noframes",
        "noscript",
        "script",
        "style",
        "svg",
        "template",
        "video",
    ]
)
BOILERPLATE = frozenset(["aside", "footer", "header", "nav"])
BOILERPLATE_ROLES = frozenset(["banner", "complementary", "contentinfo", "navigation", "search"])
# Tags inside a line of text; every other tag begins and ends a line.
INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "meter",
        "nobr",
        "output",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)

# Less text than this outside of navigation means that the navigation is the page.
MIN_MAIN_WORDS = 20
MIN_MAIN_SHARE = 0.10

# Scripts that put no spaces between words: Thai to Lao, Khmer, kana, Han.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_BREAK = "\x1e"


@dataclass(frozen=True, slots=True)
class Reading:
    """What one walk over a tree found.

    *tags* are the names of all elements in document order and *depths* their distances from the
    root (0); *classes* are tag and class attribute of the elements that have one, *links* the
    targets of `a` and `area`, as written.
    """

    text: str = ""
    title: str = ""
    canonical_link: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()
    depths: tuple[int, ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    links: tuple[str, ...] = ()


def read_tree(root: Any) -> Reading:
    """Return what stands in the lxml tree under *root*, which is not changed; never recurses.

    The text is what a reader sees, without `BOILERPLATE` elements and roles; where fewer than
    MIN_MAIN_WORDS words or less than MIN_MAIN_SHARE of all words remain, with them.  A root with
    nothing in it is no structure: Scrapy makes one for a page without any element.
    """
    if not len(root) and not root.text:
        return Reading()
    walk = _Walk(root)
    return Reading(
        text=walk.text(),
        title=" ".join(_first(element.text for element in root.iter("title")).split()),
        canonical_link=_first(filter(None, map(_canonical_target, root.iter("link")))).strip(),
        language=(root.get("lang") or "").strip(),
        tags=tuple(walk.tags),
        depths=tuple(walk.depths),
        classes=_classes(root),
        links=_links(root),
    )


class _Walk:
    """The walk itself: everything visible goes to one list, `_aside` says what of it is boilerplate."""

    def __init__(self, root: Any) -> None:
        self.tags: list[str] = []
        self.depths: list[int] = []
        self._chunks: list[str] = []
        self._aside: list[slice] = []
        self._run(root)

    def text(self) -> str:
        everything = "".join(self._chunks)
        if not self._aside:
            return _lines(everything)
        main = self._chunks.copy()
        for part in reversed(self._aside):
            del main[part]
        text = _lines("".join(main))
        words = _word_count(text)
        # A word and what parts it take two characters at least: mostly there is nothing to count.
        share = MIN_MAIN_SHARE * (len(everything) / 2 + 1)
        if words < share:
            share = MIN_MAIN_SHARE * _word_count(everything)
        return text if words >= max(MIN_MAIN_WORDS, share) else _lines(everything)

    def _run(self, root: Any) -> None:  # noqa: C901, PLR0912 - the one hot loop; calls would cost a third
        tags, depths, chunks = self.tags, self.depths, self._chunks
        with_role = _boilerplate_by_role(root)
        states = [_VISIBLE]  # of the elements that are open, below them the page
        aside_start = 0
        for event, element in etree.iterwalk(root, events=_EVENTS):
            if event == "start":
                tag = element.tag
                tags.append(tag)
                depths.append(len(states) - 1)
                state = states[-1]
                if state != _HIDDEN:
                    own = _STATES.get(tag, _VISIBLE)
                    if with_role and own == _VISIBLE and element in with_role:
                        own = _ASIDE
                    if own > state:
                        state = own
                        if own == _ASIDE:
                            aside_start = len(chunks)
                    if state != _HIDDEN:
                        if tag not in INLINE:
                            chunks.append(_BREAK)
                        if text := element.text:
                            chunks.append(text)
                states.append(state)
                continue
            if event == "end":
                was = states.pop()
                if was == _ASIDE and states[-1] == _VISIBLE:
                    self._aside.append(slice(aside_start, len(chunks)))
                if states[-1] != _HIDDEN and was != _HIDDEN and element.tag not in INLINE:
                    chunks.append(_BREAK)
            # What follows an element, or a comment, belongs to its parent.
            if states[-1] != _HIDDEN and len(states) > 1 and (tail := element.tail):
                chunks.append(tail)


_VISIBLE, _ASIDE, _HIDDEN = range(3)
_STATES = dict.fromkeys(BOILERPLATE, _ASIDE) | dict.fromkeys(INVISIBLE, _HIDDEN)
# Found all at once in C: asking every element for its role would cost a tenth of the walk.
_WITH_ROLE = etree.XPath("descendant-or-self::*/@role/..")
_WITH_CLASS = etree.XPath("descendant-or-self::*/@class/..")
_HREFS = etree.XPath("descendant-or-self::*[self::a or self::area]/@href", smart_strings=False)
_CLASSES = etree.XPath("descendant-or-self::*/@class", smart_strings=False)
_EVENTS = ("start", "end", "comment", "pi")


def _classes(root: Any) -> tuple[tuple[str, str], ...]:
    elements: Any = _WITH_CLASS(root)
    classes: Any = _CLASSES(root)
    return tuple(zip([element.tag for element in elements], classes, strict=True))


def _links(root: Any) -> tuple[str, ...]:
    found: Any = _HREFS(root)
    return tuple(filter(None, found))


def _canonical_target(link: Any) -> str | None:
    if "canonical" in (link.get("rel") or "").lower().split():
        target: str | None = link.get("href")
        return target
    return None


def _first(texts: Iterable[str | None]) -> str:
    return next(filter(None, texts), "")


def _boilerplate_by_role(root: Any) -> frozenset[Any]:
    found: Any = _WITH_ROLE(root)
    return frozenset(
        element
        for element in found
        if not BOILERPLATE_ROLES.isdisjoint(element.get("role").lower().split())
    )


def _lines(text: str) -> str:
    lines = map(str.split, text.split(_BREAK))
    return "\n".join([" ".join(words) for words in lines if words])


def _word_count(text: str) -> float:
    # Two characters make a word, roughly, where words are not marked.
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return len(text.split()) + unspaced / 2
