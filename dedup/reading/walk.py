"""One walk over the tree of a page: its visible text, its tags, its title, its links."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, NamedTuple

from dedup.reading.tokens import UNSPACED

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
# Elements and roles.  A header inside of these has the heading of a text, not the frame of a site
# (W3C, HTML Accessibility API Mappings).
TEXTS = frozenset(["article", "main"])
# What menus are made of.
CONTROLS = frozenset(["a", "button", "select"])
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

# With less text than this outside boilerplate, the boilerplate is the page.
MIN_MAIN_WORDS = 20
# With less of all words but menus outside boilerplate, a text stands in an element of the wrong kind.
MIN_MAIN_SHARE = 0.10

_UNSPACED = re.compile(f"[{UNSPACED}]")
# The bars, dots and arrows that stand between the links of a menu.
_SEPARATOR = re.compile(r"(?<!\S)[^\w\s]++(?!\S)")
_BREAK = "\x1e"


class Reading(NamedTuple):
    """What a walk over a tree reads, with the names of `dedup.reading.page.Page`.

    *title*, *canonical_link* and *language* stand as they were written.
    """

    text: str
    title: str
    canonical_link: str
    language: str
    tags: tuple[str, ...]
    depths: tuple[int, ...]
    classes: tuple[tuple[str, str], ...]
    links: tuple[str, ...]


class Walk:
    """One walk over the lxml tree under *root*, which is not changed; never recurses.

    *tags*, *depths*, *classes* and *links* are those of `dedup.reading.page.Page`, *title* and
    *canonical_link* stand as they were written.  A root with nothing in it is no structure: Scrapy
    makes one for a page without any element.  Without *has_controls* what is in `CONTROLS` is hidden.
    """

    def __init__(self, root: Any, *, has_controls: bool = True) -> None:
        self.tags: list[str] = []
        self.depths: list[int] = []
        self.classes: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.title = self.canonical_link = self.language = ""
        # Everything visible goes to one list; `_aside` says which slices of it are boilerplate.
        self._chunks: list[str] = []
        self._aside: list[slice] = []
        self._root = root
        self._states = STATES if has_controls else _STATES_OF_TEXT
        if root is not None and (len(root) or root.text):
            self.language = root.get("lang") or ""
            self._run(root)

    def text(self) -> str:
        """Return the text that a reader sees, without `BOILERPLATE` elements and roles.

        Where fewer than MIN_MAIN_WORDS words are left, with all of it.  Where these are less than
        MIN_MAIN_SHARE of the words that are not in `CONTROLS`, with those, and without the menus.
        """
        everything = "".join(self._chunks)
        if not self._aside:
            return _lines(everything)
        text = _lines("".join(self._main_chunks()))
        words = _word_count(text)
        if words < MIN_MAIN_WORDS:
            return _lines(everything)
        # A word and the space after it are two characters at least: mostly no words need be counted.
        if _is_little(words, len(everything) / 2 + 1) and _is_little(words, _word_count(everything)):
            aside = Walk(self._root, has_controls=False)._aside_text()
            if _is_little(words, words + _word_count(_SEPARATOR.sub("", aside))):
                return f"{text}\n{aside}"
        return text

    def reading(self) -> Reading:
        """Return all that was read."""
        return Reading(
            self.text(),
            self.title,
            self.canonical_link,
            self.language,
            tuple(self.tags),
            tuple(self.depths),
            tuple(self.classes),
            tuple(self.links),
        )

    def _aside_text(self) -> str:
        return _lines(_BREAK.join("".join(self._chunks[part]) for part in self._aside))

    def _main_chunks(self) -> list[str]:
        main: list[str] = []
        begin = 0
        for part in self._aside:
            main += self._chunks[begin : part.start]
            begin = part.stop
        return main + self._chunks[begin:]

    def _run(self, root: Any) -> None:  # noqa: C901, PLR0912 - the one hot loop; calls would cost a third
        tags, depths, chunks, states = self.tags, self.depths, self._chunks, self._states
        # The elements that are open, with the tag and the state of each, below them nothing.
        open_elements: list[Any] = [None]
        open_tags, open_states = [""], [_VISIBLE]
        innermost, aside_start = None, 0
        for element in chain(root.iter(), (None,)):
            parent = None if element is None else element.getparent()
            while innermost is not parent and innermost is not None:
                left, tag, was = open_elements.pop(), open_tags.pop(), open_states.pop()
                innermost, state = open_elements[-1], open_states[-1]
                if was == _ASIDE and state < _ASIDE:
                    self._aside.append(slice(aside_start, len(chunks)))
                if state != _HIDDEN and innermost is not None:
                    if was != _HIDDEN and tag not in INLINE:
                        chunks.append(_BREAK)
                    if tail := left.tail:  # it belongs to the parent
                        chunks.append(tail)
            if element is None:
                return
            tag, state = element.tag, open_states[-1]
            if tag.__class__ is str:
                tags.append(tag)
                depths.append(len(open_elements) - 1)
                if state != _HIDDEN:
                    is_block = tag not in INLINE
                    own = states.get(tag, _VISIBLE)
                    if own > _TEXT and _is_of_text(tag, state, element):
                        own = _VISIBLE
                    # To look up an attribute is expensive, and nothing inside a line is a region.
                    if is_block and own < _ASIDE and (role := element.get("role")):
                        own = max(own, _state_of(role))
                    if own > state:
                        state = own
                        if own == _ASIDE:
                            aside_start = len(chunks)
                    if state != _HIDDEN:
                        if is_block:
                            chunks.append(_BREAK)
                        if text := element.text:
                            chunks.append(text)
                if classes := element.get("class"):
                    self.classes.append((tag, classes))
                if tag in _NOTED:
                    self._note(tag, element)
            else:  # a comment or processing instruction: only its tail is text
                state = _HIDDEN
            open_elements.append(element)
            open_tags.append(tag)
            open_states.append(state)
            innermost = element

    def _note(self, tag: str, element: Any) -> None:
        if tag == "title":
            self.title = self.title or element.text or ""
        elif tag == "link":
            if "canonical" in (element.get("rel") or "").lower().split():
                self.canonical_link = self.canonical_link or element.get("href") or ""
        elif target := element.get("href"):
            self.links.append(target)


# Of an element and the elements around it the highest state counts.
_VISIBLE, _TEXT, _ASIDE, _HIDDEN = range(4)
STATES = (
    dict.fromkeys(TEXTS, _TEXT) | dict.fromkeys(BOILERPLATE, _ASIDE) | dict.fromkeys(INVISIBLE, _HIDDEN)
)
_STATES_OF_TEXT = STATES | dict.fromkeys(CONTROLS, _HIDDEN)
ROLE_STATES = dict.fromkeys(TEXTS, _TEXT) | dict.fromkeys(BOILERPLATE_ROLES, _ASIDE)
_NOTED = frozenset(("a", "area", "link", "title"))


def _is_of_text(tag: str, state: int, element: Any) -> bool:
    """Return whether *element* is the header of a text, or an anchor that is no link."""
    return (tag == "header" and state == _TEXT) or (tag == "a" and element.get("href") is None)


def _state_of(role: str) -> int:
    return max((ROLE_STATES.get(name, _VISIBLE) for name in role.lower().split()), default=_VISIBLE)


def _is_little(words: float, of: float) -> bool:
    return words < MIN_MAIN_SHARE * of


def _lines(text: str) -> str:
    lines = map(str.split, text.split(_BREAK))
    return "\n".join([" ".join(words) for words in lines if words])


def _word_count(text: str) -> float:
    # In scripts without spaces a word has some two characters.
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return len(text.split()) + unspaced / 2
