"""One walk over the tree of a page: its visible text, its tags, its title, its links."""

from __future__ import annotations

import re
from html import unescape
from itertools import chain
from typing import Any, NamedTuple

from dedup.reading.tokens import HAN, UNSPACED

# Not `head`: where its end is left out, as HTML allows, libxml2 puts `main` and all that is in it there.
# How a word sounds stands above it (`rt`), and again in its text nowhere.
INVISIBLE = frozenset(["rp", "rt", "rtc", "script", "style", "title"])
# What is shown in place of something else, or when a script likes; of drawings what is told about them.
FALLBACKS = frozenset(
    [
        "audio",
        "canvas",
        "datalist",
        "desc",
        "iframe",
        "metadata",
        "noframes",
        "noscript",
        "template",
        "video",
    ]
)
# What is in them is a document of its own, which libxml2 2.14 gives as it is written.
DOCUMENTS = frozenset(["iframe", "noframes"])
# Where the title of a page stands; behind a first ``</html>`` there is no `head`.
HEADS = frozenset(["head", "html"])
# Where the title of an icon stands.
DRAWINGS = frozenset(["g", "svg", "symbol"])
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
        "rb",
        "rp",
        "rt",
        "rtc",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "svg",
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
# Fallbacks of fewer words only ask for scripts or another browser.
MIN_FALLBACK_WORDS = 40
# A shorter text of a picture is the name of it.
LONG_NAME = 40
# A page that shows fewer words is judged by its bytes; with a fallback beside them it would be a copy of
# all pages of its site that ask for scripts.
MIN_SHOWN_WORDS = 4

_UNSPACED = re.compile(f"[{UNSPACED}]")
# The bars, dots and arrows that stand between the links of a menu.
_SEPARATOR = re.compile(r"(?<!\S)[^\w\s]++(?!\S)")
_BREAK, _LINE_BREAK = "\x1e", "\x1d"
_BREAKS = re.compile(f"[{_BREAK}{_LINE_BREAK}]")
# Between two Han characters or kana the end of a line in the source, or one `br`, is nothing.
_INSIDE_LINE = rf"[^\S{_BREAK}{_LINE_BREAK}]*+"
_WRAPPED = re.compile(
    rf"([{HAN}])(?:[^\S\n{_BREAK}{_LINE_BREAK}]*+\n{_INSIDE_LINE}"
    rf"|(?:{_INSIDE_LINE}{_LINE_BREAK}){{2}}{_INSIDE_LINE})(?=[{HAN}])"
)
# A tag, or a script or style from its begin to where it ends.
_MARKUP = re.compile(r"<(script|style)\b(?:[^<]|<(?!/\1))*+|<[^<>]*+>", re.IGNORECASE)


class PageReading(NamedTuple):
    """What a walk over a tree reads, with the names of `dedup.reading.page.Page`.

    *title*, *canonical_link* and *language* stand as they were written, and so do *alternates*: the
    language and the address of each.  *told* is what pictures say in `LONG_NAME` characters or more.
    """

    text: str
    title: str
    canonical_link: str
    language: str
    tags: tuple[str, ...]
    depths: tuple[int, ...]
    links: tuple[str, ...]
    inside: int | None = None
    alternates: tuple[tuple[str, str], ...] = ()
    told: tuple[str, ...] = ()


class Walk:
    """One walk over the lxml tree under *root*, which is not changed; never recurses.

    What follows the root of a document is read too: libxml2 makes another root of what stands after a
    first ``</html>``.  *tags*, *depths* and *links* are those of `dedup.reading.page.Page`,
    *title* and *canonical_link* stand as they were written.  A root with nothing in it is no structure:
    Scrapy makes one for a page without any element.  Without *has_controls* what is in `CONTROLS` is
    hidden.
    """

    def __init__(self, root: Any, *, has_controls: bool = True) -> None:
        self.tags: list[str] = []
        self.depths: list[int] = []
        self.links: list[str] = []
        self.alternates: list[tuple[str, str]] = []
        self.told: list[str] = []
        self.title = self.canonical_link = self.language = ""
        # Everything visible goes to one list; `_aside` says which slices of it are boilerplate.
        self._chunks: list[str] = []
        self.inside: int | None = None
        self._fallbacks: list[str] = []
        self._aside: list[slice] = []
        self._root = root
        self._states = STATES if has_controls else _STATES_OF_TEXT
        roots = [each for each in all_roots(root) if len(each) or each.text]
        if roots:
            self.language = next(filter(None, (each.get("lang") for each in roots)), "")
            self._run(roots)

    def text(self) -> str:
        """Return the text that a reader sees, without `BOILERPLATE` elements and roles.

        With all of it where fewer than MIN_MAIN_WORDS words are left.  Where they are
        less than MIN_MAIN_SHARE of the words that are not in `CONTROLS`, with those, but without menus.
        `FALLBACKS` follow if they have MIN_FALLBACK_WORDS words together, and the text MIN_SHOWN_WORDS.
        """
        text, fallbacks = self._shown_text(), _lines("".join(self._fallbacks))
        if rough_words(fallbacks) < MIN_FALLBACK_WORDS or rough_words(text) < MIN_SHOWN_WORDS:
            return text
        return f"{text}\n{fallbacks}"

    def _shown_text(self) -> str:
        everything = "".join(self._chunks)
        if not self._aside:
            return _lines(everything)
        text = _lines("".join(self._main_chunks()))
        words = rough_words(text)
        if words < MIN_MAIN_WORDS:
            self.inside = max(1, int(words))
            return _lines(everything)
        # A word and the space after it are two characters at least: mostly no words need be counted.
        if _is_little(words, len(everything) / 2 + 1) and _is_little(words, rough_words(everything)):
            aside = Walk(self._root, has_controls=False)._aside_text()
            if _is_little(words, words + rough_words(_SEPARATOR.sub("", aside))):
                return f"{text}\n{aside}"
        return text

    def reading(self) -> PageReading:
        """Return all that was read."""
        return PageReading(
            self.text(),
            self.title,
            self.canonical_link,
            self.language,
            tuple(self.tags),
            tuple(self.depths),
            tuple(self.links),
            self.inside,
            tuple(self.alternates),
            tuple(self.told),
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

    def _run(self, roots: list[Any]) -> None:  # noqa: C901, PLR0912 - the one hot loop; calls would cost a third
        tags, depths, chunks, states = self.tags, self.depths, self._chunks, self._states
        chunks_of = (chunks, chunks, chunks, self._fallbacks)
        # The elements that are open, with the tag and the state of each, below them nothing.
        open_elements: list[Any] = [None]
        open_tags, open_states = [""], [_VISIBLE]
        innermost, aside_start = None, 0
        for element in chain(*(root.iter() for root in roots), (None,)):
            parent = None if element is None else element.getparent()
            while innermost is not parent and innermost is not None:
                left, tag, was = open_elements.pop(), open_tags.pop(), open_states.pop()
                innermost, state = open_elements[-1], open_states[-1]
                if was == _ASIDE and state < _ASIDE:
                    self._aside.append(slice(aside_start, len(chunks)))
                if state != _HIDDEN and innermost is not None:
                    if was != _HIDDEN and tag not in INLINE:
                        chunks_of[was].append(_LINE_BREAK if tag == "br" else _BREAK)
                    if tail := left.tail:  # it belongs to the parent
                        chunks_of[state].append(tail)
            if element is None:
                return
            tag, state = element.tag, open_states[-1]
            if tag.__class__ is str:
                tags.append(tag)
                depths.append(len(open_elements) - 1)
                if state != _HIDDEN:
                    is_block = tag not in INLINE
                    own = states.get(tag, _VISIBLE)
                    if own > _TEXT:
                        own = _state_in_place(tag, own, state, open_tags[-1], element)
                    # To look up an attribute is expensive, and nothing inside a line is a region.
                    if is_block and own < _ASIDE and (role := element.get("role")):
                        own = max(own, _state_of(role))
                    if own > state:
                        state = own
                        if own == _ASIDE:
                            aside_start = len(chunks)
                    if state != _HIDDEN:
                        if is_block:
                            chunks_of[state].append(_LINE_BREAK if tag == "br" else _BREAK)
                        text = element.text
                        if tag in DOCUMENTS:
                            text = words_in(element.get("srcdoc") or "", text or "")
                        if text:
                            chunks_of[state].append(text)
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
            kinds = (element.get("rel") or "").lower().split()
            if "canonical" in kinds:
                self.canonical_link = self.canonical_link or element.get("href") or ""
            if "alternate" in kinds and (language := element.get("hreflang")):
                self.alternates.append((language, element.get("href") or ""))
        elif tag == "img":
            said = (element.get("alt") or "", element.get("title") or "")
            self.told += [text for text in said if len(text) >= LONG_NAME]
        elif target := element.get("href"):
            self.links.append(target)


# Of an element and the elements around it the highest state counts.
_VISIBLE, _TEXT, _ASIDE, _FALLBACK, _HIDDEN = range(5)
STATES = (
    dict.fromkeys(TEXTS, _TEXT)
    | dict.fromkeys(BOILERPLATE, _ASIDE)
    | dict.fromkeys(FALLBACKS, _FALLBACK)
    | dict.fromkeys(INVISIBLE, _HIDDEN)
)
_STATES_OF_TEXT = STATES | dict.fromkeys(CONTROLS, _HIDDEN)
ROLE_STATES = dict.fromkeys(TEXTS, _TEXT) | dict.fromkeys(BOILERPLATE_ROLES, _ASIDE)
_NOTED = frozenset(("a", "area", "img", "link", "title"))


def all_roots(root: Any) -> list[Any]:
    """Return the *root* of a document with what stands behind it; of an element in one, only that."""
    if root is None:
        return []
    return [root] if root.getparent() is not None else [root, *root.itersiblings("*")]


def _state_in_place(tag: str, own: int, state: int, parent: str, element: Any) -> int:
    """Return the state of *element*, which is *own* unless it stands where it means something else."""
    if tag == "title":
        return _FALLBACK if parent in DRAWINGS else _HIDDEN if parent in HEADS else _VISIBLE
    is_text = (
        (tag == "header" and state == _TEXT)  # of a text
        or (tag == "template" and element.get("shadowrootmode") is not None)
        or (tag == "a" and element.get("href") is None)
    )
    return _VISIBLE if is_text else own


def words_in(attribute: str, text: str) -> str:
    """Return the words of the document that an element has in an *attribute*, and as its *text*."""
    return unescape(_MARKUP.sub(_BREAK, f"{attribute} {text}"))


def _state_of(role: str) -> int:
    return max((ROLE_STATES.get(name, _VISIBLE) for name in role.lower().split()), default=_VISIBLE)


def _is_little(words: float, of: float) -> bool:
    return words < MIN_MAIN_SHARE * of


def _lines(text: str) -> str:
    if not text.isascii():
        text = _WRAPPED.sub(r"\1", text)
    lines = map(str.split, _BREAKS.split(text))
    return "\n".join([" ".join(words) for words in lines if words])


def rough_words(text: str) -> float:
    """Return about how many words *text* has; in scripts without spaces two characters are one."""
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return len(text.split()) + unspaced / 2
