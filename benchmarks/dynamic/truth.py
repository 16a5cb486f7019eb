"""What a page is about, by the elements in which its program shows it: the truth that rules are held to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lxml import html


@dataclass(frozen=True, slots=True)
class Content:
    """CSS selectors: what a page is about, what else is said there, and what in these is of no account.

    Each element of *parts* is a text of its own, such as an answer.  A page without *main* is not
    judged: a list, a form.
    """

    main: str
    parts: str = ""
    without: str = ""


@dataclass(frozen=True, slots=True)
class Crawled:
    """A page as it came: *key* is of what it is about, "" if it is not judged, *parts* of what else it says.

    *dropped* is whether the crawl dropped it.
    """

    url: str
    html: str
    key: str = ""
    parts: frozenset[str] = frozenset()
    dropped: bool = False

    def holds(self, other: Crawled) -> bool:
        """Whether all that *other* says is said here."""
        return self.key == other.key and self.parts >= other.parts


def keys_of(page: str, content: Content) -> tuple[str, frozenset[str]]:
    """Return the key of *page*, and those of its parts.

    >>> keys_of("<p>A list</p>", Content("h1, article", ".reply"))
    ('', frozenset())
    """
    tree = parsed(page)
    for element in tree.cssselect(content.without) if content.without else ():
        element.drop_tree()
    main = [word for element in tree.cssselect(content.main) for word in words_in(text_of(element))]
    if not main:
        return "", frozenset()
    said = tree.cssselect(content.parts) if content.parts else ()
    parts = (words_in(text_of(element)) for element in said)
    return _hash(main), frozenset(_hash(words) for words in parts if words)


def words_in(text: str) -> list[str]:
    """Return the words of *text*; each Chinese character is one."""
    return re.findall("[\u4e00-\u9fff]|[^\\W\u4e00-\u9fff]+", text.lower())


def parsed(page: str) -> Any:
    """Return the tree of *page*."""
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True)
    return html.document_fromstring(page.encode("utf-8", "replace") or b"<html/>", parser=parser)


def text_of(element: Any) -> str:
    """Return the text that a reader sees in *element*, its blocks apart."""
    return " ".join(_strings(element))


def _strings(element: Any) -> Iterator[str]:
    if element.tag not in ("script", "style", "template", "noscript"):
        if element.text:
            yield element.text
        for child in element:
            yield from _strings(child)
            if child.tail:
                yield child.tail


def _hash(words: Sequence[str]) -> str:
    return hashlib.sha1(" ".join(words).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of a crawl's pages.

    *copies* say nothing that no page before them says; *kept* are those that were kept all the same.
    *drops* counts the pages dropped that are judged, *lost* has a page for each content that no page
    kept says.
    """

    copies: int
    kept: tuple[int, ...]
    drops: int
    lost: tuple[int, ...]


def counts_of(pages: Sequence[Crawled], dropped: Iterable[int]) -> Counts:
    """Return what it means for *pages*, in the order of the crawl, that those of these numbers were *dropped*."""
    gone = set(dropped)
    of_key: dict[str, list[int]] = {}
    for number, page in enumerate(pages):
        if page.key:
            of_key.setdefault(page.key, []).append(number)
    copies, lost = list[int](), list[int]()
    for number, page in enumerate(pages):
        if not page.key:
            continue
        holders = [one for one in of_key[page.key] if pages[one].holds(page)]
        if holders[0] < number:
            copies.append(number)
        # The first of those that say the same stands for all.
        same = [one for one in holders if page.holds(pages[one])]
        if same[0] == number and gone.issuperset(holders):
            lost.append(number)
    return Counts(
        copies=len(copies),
        kept=tuple(number for number in copies if number not in gone),
        drops=sum(1 for number in gone if pages[number].key),
        lost=tuple(lost),
    )
