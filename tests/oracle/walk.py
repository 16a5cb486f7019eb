"""The walk over a tree, slowly: what the compiled one must equal."""

import re
from itertools import chain
from typing import Any

from dedup.reading import markup
from dedup.reading.markup import Reading, all_roots, step_of, words_in
from dedup.reading.tokens import HAN, UNSPACED

MIN_MAIN_WORDS, MIN_FALLBACK_WORDS, MIN_SHOWN_WORDS, LONG_NAME = 20, 40, 4, 40
MIN_MAIN_SHARE = 0.10
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


def check_places(found: Reading) -> None:
    """Each line has the place of such a line of the page, of several that which is not aside."""
    places, asides, said = found.placed
    for text in (found.text, said[::2]):
        left = sorted(zip(asides, said.split("\n"), places, strict=False), key=lambda one: one[0])
        for line, place in zip(text.split("\n"), markup.places_of(found.placed, text), strict=False):
            one = next((one for one in left if one[1] == line), (0, "", ""))
            assert place == one[2]
            left = [other for other in left if other is not one]


class Walk:
    """One walk over the tree under *root*; without *has_controls* what is in `markup.CONTROLS` is hidden."""

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
        self.placed: list[tuple[str, str, int]] = []
        self._steps: list[Any] = []
        self._line_at = 0
        self._root = root
        self._states = STATES if has_controls else _STATES_OF_TEXT
        roots = [each for each in all_roots(root) if len(each) or each.text]
        if roots:
            self.language = next(filter(None, (each.get("lang") for each in roots)), "")
            self._run(roots)

    def text(self) -> str:
        text, fallbacks = self._shown_text(), "".join(self._fallbacks)
        if rough_words(fallbacks) < MIN_FALLBACK_WORDS or rough_words(text) < MIN_SHOWN_WORDS:
            return text
        return f"{text}\n{_lines(fallbacks)}"

    def _shown_text(self) -> str:
        everything = "".join(self._chunks)
        if not self._aside:
            return _lines(everything)
        main = "".join(self._main_chunks())
        text, words = _lines(main), rough_words(main)
        if words < MIN_MAIN_WORDS:
            self.inside = max(1, int(words))
            return _lines(everything)
        # A word and the space after it are two characters at least: mostly no words need be counted.
        if _is_little(words, len(everything) / 2 + 1) and _is_little(words, rough_words(everything)):
            aside = Walk(self._root, has_controls=False)._aside_text()
            if _is_little(words, words + rough_words(_SEPARATOR.sub("", aside))):
                return f"{text}\n{aside}"
        return text

    def reading(self) -> Reading:
        places, lines, at = zip(*self.placed, strict=True) if self.placed else ((), (), ())
        asides = (any(part.start <= begin < part.stop for part in self._aside) for begin in at)
        lists: Any = self.tags, self.depths, self.links, self.alternates, self.told
        text = self.text()  # which tells what is inside
        told: Any = self.title, self.canonical_link, self.language, *map(tuple, lists)
        return Reading._make((text, self.inside, *told, (places, bytes(asides), "\n".join(lines))))

    def _aside_text(self) -> str:
        return _lines(_BREAK.join("".join(self._chunks[part]) for part in self._aside))

    def _main_chunks(self) -> list[str]:
        aside = {at for part in self._aside for at in range(part.start, part.stop)}
        return [chunk for at, chunk in enumerate(self._chunks) if at not in aside]

    def _run(self, roots: list[Any]) -> None:  # noqa: C901, PLR0912, PLR0915
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
                    if was != _HIDDEN and tag not in markup.INLINE:
                        chunks_of[was].append(_LINE_BREAK if tag == "br" else _BREAK)
                        if was != _FALLBACK:
                            self._end_line()
                            self._steps.pop()
                    if tail := left.tail:  # it belongs to the parent
                        chunks_of[state].append(tail)
                if innermost is None:  # a root ends
                    self._end_line()
                    self._steps.clear()
            if element is None:
                return
            tag, state = element.tag, open_states[-1]
            if tag.__class__ is str:
                tags.append(tag)
                depths.append(len(open_elements) - 1)
                if state != _HIDDEN:
                    is_block = tag not in markup.INLINE
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
                            if state != _FALLBACK:
                                self._end_line()
                                self._steps.append(element)
                        text = element.text
                        if tag in markup.DOCUMENTS:
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

    def _end_line(self) -> None:
        begin, self._line_at = self._line_at, len(self._chunks)
        line = " ".join("".join(self._chunks[begin:]).split())
        if line:
            steps = (step_of(e.tag, e.get("class") or "", e.get("id") or "") for e in self._steps[-3:])
            self.placed.append((">".join(steps), line, begin))

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
STATES = dict.fromkeys(markup.TEXTS, _TEXT) | dict.fromkeys(markup.BOILERPLATE, _ASIDE)
STATES |= dict.fromkeys(markup.FALLBACKS, _FALLBACK) | dict.fromkeys(markup.INVISIBLE, _HIDDEN)
_STATES_OF_TEXT = STATES | dict.fromkeys(markup.CONTROLS, _HIDDEN)
ROLE_STATES = dict.fromkeys(markup.TEXTS, _TEXT) | dict.fromkeys(markup.BOILERPLATE_ROLES, _ASIDE)
_NOTED = frozenset(("a", "area", "img", "link", "title"))


def _state_in_place(tag: str, own: int, state: int, parent: str, element: Any) -> int:
    """Return the state of *element*, which is *own* unless it stands where it means something else."""
    if tag == "title":
        shown = _HIDDEN if parent in markup.HEADS else _VISIBLE
        return _FALLBACK if parent in markup.DRAWINGS else shown
    is_text = (
        (tag == "header" and state == _TEXT)  # of a text
        or (tag == "template" and element.get("shadowrootmode") is not None)
        or (tag == "a" and element.get("href") is None)
    )
    return _VISIBLE if is_text else own


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
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return len(text.split()) + unspaced / 2
