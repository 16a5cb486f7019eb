"""One walk over a parsed page: its visible text, its tags, its title, its links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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
    root (0), *classes* their class attributes as written; *links* are the targets of `a` and `area`
    as written.
    """

    text: str = ""
    title: str = ""
    canonical_link: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()
    depths: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


def read_tree(root: Any) -> Reading:
    """Return what stands in the lxml tree under *root*, which is not changed; never recurses.

    The text is what a reader sees, without `BOILERPLATE` elements and roles; where fewer than
    MIN_MAIN_WORDS words or less than MIN_MAIN_SHARE of all words remain, with them.
    """
    walk = _Walk(root)
    return Reading(
        text=walk.text(),
        title=" ".join(walk.title.split()),
        canonical_link=walk.canonical_link.strip(),
        language=(root.get("lang") or "").strip(),
        tags=tuple(walk.tags),
        depths=tuple(walk.depths),
        classes=tuple(walk.classes),
        links=tuple(walk.links),
    )


class _Walk:
    """The walk itself: everything visible goes to one list, `_aside` says what of it is boilerplate."""

    def __init__(self, root: Any) -> None:
        self.tags: list[str] = []
        self.depths: list[int] = []
        self.classes: list[str] = []
        self.links: list[str] = []
        self.title = self.canonical_link = ""
        self._chunks: list[str] = []
        self._aside: list[slice] = []
        self._run(root)

    def text(self) -> str:
        everything = _lines(self._chunks)
        if not self._aside:
            return everything
        main = self._chunks.copy()
        for part in reversed(self._aside):
            del main[part]
        text = _lines(main)
        enough = max(MIN_MAIN_WORDS, MIN_MAIN_SHARE * _word_count(everything))
        return text if _word_count(text) >= enough else everything

    def _run(self, root: Any) -> None:  # noqa: C901 - the one hot loop; calls would cost a third
        tags, depths, chunks = self.tags, self.depths, self._chunks
        open_elements: list[Any] = []
        open_states: list[int] = []
        innermost, state = None, _VISIBLE  # of the element that is open
        aside_start = 0

        def close() -> None:
            # Leave the innermost element: what follows it belongs to its parent.
            nonlocal innermost, state
            element, was = open_elements.pop(), open_states.pop()
            innermost = open_elements[-1] if open_elements else None
            state = open_states[-1] if open_states else _VISIBLE
            if was == _ASIDE and state == _VISIBLE:
                self._aside.append(slice(aside_start, len(chunks)))
            if state != _HIDDEN and innermost is not None:
                if element.tag not in INLINE and was != _HIDDEN:
                    chunks.append(_BREAK)
                if tail := element.tail:
                    chunks.append(tail)

        for element in root.iter():
            parent = element.getparent()
            while innermost is not parent and open_elements:
                close()
            tag = element.tag
            if isinstance(tag, str):
                tags.append(tag)
                depths.append(len(open_elements))
                self.classes.append(element.get("class") or "")
                if state != _HIDDEN:
                    was, state = state, max(state, _state_of(tag, element))
                    if state != _HIDDEN:
                        if was != state:
                            aside_start = len(chunks)
                        if tag not in INLINE:
                            chunks.append(_BREAK)
                        if text := element.text:
                            chunks.append(text)
                if tag in _NOTED:
                    self._note(tag, element)
            else:  # a comment or processing instruction: only what follows it is text
                state = _HIDDEN
            open_elements.append(element)
            open_states.append(state)
            innermost = element
        while open_elements:
            close()

    def _note(self, tag: str, element: Any) -> None:
        if tag == "title":
            self.title = self.title or element.text or ""
        elif tag == "link":
            if "canonical" in (element.get("rel") or "").lower().split():
                self.canonical_link = self.canonical_link or element.get("href") or ""
        elif target := element.get("href"):
            self.links.append(target)


_VISIBLE, _ASIDE, _HIDDEN = range(3)
_NOTED = frozenset(("a", "area", "link", "title"))


def _state_of(tag: str, element: Any) -> int:
    if tag in INVISIBLE or element.get("hidden") is not None:
        return _HIDDEN
    if tag in BOILERPLATE:
        return _ASIDE
    role = element.get("role")
    if role and not BOILERPLATE_ROLES.isdisjoint(role.lower().split()):
        return _ASIDE
    return _VISIBLE


def _lines(chunks: list[str]) -> str:
    lines = "".join(chunks).split(_BREAK)
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _word_count(text: str) -> float:
    # Two characters make a word, roughly, where words are not marked.
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return len(text.split()) + unspaced / 2
