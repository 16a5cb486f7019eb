"""Texts to fill programs with, read where Debian's packages have put them; none is in this repository.

Articles are the sections of Python's manual (python3.11-doc), of the Debian Handbook in Chinese
(debian-handbook) and of the help of Gimp (gimp-help-zh-cn); sayings are fortunes (fortunes, fortunes-zh).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dynamic.truth import parsed, words_in

SHARE = Path("/usr/share")
_PYTHON = SHARE / "doc/python3.11/html"
MANUALS = {
    "en": [_PYTHON / part for part in ("tutorial", "howto", "faq", "library")],
    "zh": [SHARE / "doc/debian-handbook/html/zh-TW", SHARE / "gimp/2.0/help/zh_CN"],
}
# The last has riddles as well as poems.
SAYINGS = {"en": ("wisdom", "computers", "science", "people"), "zh": ("tang300", "song100", "chinese")}
SHORTEST, LONGEST = 60, 900
_HEADINGS = frozenset(("h1", "h2", "h3", "h4"))
_HAN = re.compile("[\u4e00-\u9fff]")
_ESCAPE = re.compile("\x1b\\[[0-9;]*m|\x1b")


@dataclass(frozen=True, slots=True)
class Text:
    """A title and paragraphs."""

    title: str
    paragraphs: tuple[str, ...]

    @property
    def whole(self) -> str:
        """All paragraphs."""
        return "\n\n".join(self.paragraphs)


def articles(language: str, count: int) -> list[Text]:
    """Return *count* articles, no title twice, spread over the manual."""
    found: dict[str, Text] = {}
    for folder in MANUALS[language]:
        for path in sorted(folder.glob("*.html")):
            for text in sections(path.read_text("utf-8"), language):
                found.setdefault(text.title.lower(), text)
    if len(found) < count:
        raise FileNotFoundError(f"{MANUALS[language]} has {len(found)} sections, {count} are wanted")
    texts = list(found.values())
    return [texts[number * len(texts) // count] for number in range(count)]


def sections(page: str, language: str) -> Iterator[Text]:
    """Yield the sections of a manual's page, each up to the next heading."""
    title, paragraphs = "", list[str]()
    for element in parsed(page).iter(*_HEADINGS, "p", "div"):
        if element.tag == "div" and element.get("class") != "para":
            continue
        said = " ".join(element.text_content().replace("¶", "").split())
        if element.tag in ("p", "div"):
            if language == "en" or len(_HAN.findall(said)) > len(said) / 3:
                paragraphs.append(said)
            continue
        if _is_long_enough(paragraphs) and title:
            yield Text(title, tuple(paragraphs))
        title, paragraphs = re.sub(r"^[\d.\s]+|（.*", "", said), []
    if _is_long_enough(paragraphs) and title:
        yield Text(title, tuple(paragraphs))


def _is_long_enough(paragraphs: list[str]) -> bool:
    return SHORTEST <= len(words_in(" ".join(paragraphs))) <= LONGEST


def sayings(language: str, count: int) -> list[str]:
    """Return *count* short texts."""
    found: dict[str, None] = {}
    for name in SAYINGS[language]:
        text = (SHARE / "games/fortunes" / name).read_text("utf-8", "replace")
        for one in re.split(r"\n%\n", _ESCAPE.sub("", text)):
            said = " ".join(one.split())
            if 20 <= len(said) <= 500 and (language == "en" or _HAN.search(said)):
                found[said] = None
    if len(found) < count:
        raise FileNotFoundError(f"there are {len(found)} sayings, {count} are wanted")
    return list(found)[:count]
