"""An explanation and a diff, for a terminal and as JSON: words for people, bits for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from dedup.cli.pages import HOW_TO_GET_PAGES
from dedup.reading.page import Page
from dedup.report.diff import EQUAL, Change
from dedup.report.explanation import Explanation
from dedup.report.side_by_side import SideBySide, side_by_side
from dedup.rule.keys import SimhashKey
from dedup.rule.loss import loses
from dedup.values.printable import printable
from dedup.values.simhashes import simhash_hex

# Of a long stretch that did not change, so many characters are shown on each side.
_CONTEXT = 60
_LONGEST_CHANGE = 1_000
# So many parts of a text that are lost are shown.
_PARTS = 20


Pages = tuple[Page | None, Page | None]


def texts_of(pages: Pages) -> SideBySide | None:
    """Return the texts of two pages side by side, None where one is missing."""
    one, other = pages
    return side_by_side(one.text, other.text) if one and other else None


def show_explanation(screen: Console, explanation: Explanation, pages: Pages) -> None:
    """Print the words that are lost where both *pages* are at hand, the first of them kept, and why."""
    texts = texts_of(pages)
    if explanation.match.lost is not None:
        lost = loses(explanation.match.lost, explanation.words)
        screen.print(Text.assemble(("loses", "bold"), f"  {texts.counted(lost) if texts else lost}"))
    if texts:
        for line in _lost_lines(texts):
            screen.print(Text(f"  {line}", "red"))
    else:
        screen.print(Text(HOW_TO_GET_PAGES))
    for reason in explanation.reasons:
        if reason not in explanation.keys.sentences:
            screen.print(Text(f"  {texts.counted(reason) if texts else reason}"))


def _lost_lines(texts: SideBySide) -> Iterator[str]:
    """Yield what the second of two texts alone has, the first parts of it."""
    lost = texts.lost_parts
    yield from (f"{{+{printable(part, _LONGEST_CHANGE)}+}}" for part in lost[:_PARTS])
    if len(lost) > _PARTS:
        yield f"and {len(lost) - _PARTS:,} more"


def show_diff(screen: Console, changes: Iterable[Change]) -> None:
    """Print a diff: [-only in the first-] {+only in the second+}, which is red, for it is lost."""
    line = Text()
    for change in changes:
        if change.op == EQUAL:
            line.append(f"{_shown(change, change.before)} ")
            continue
        for text, (begin, end), style in (
            (change.before, ("[-", "-]"), "dim"),
            (change.after, ("{+", "+}"), "bold red"),
        ):
            if shown := _shown(change, text):
                line.append(f"{begin}{shown}{end}", style).append(" ")
    line.rstrip()
    screen.print(line)


def _shown(change: Change, text: str) -> str:
    words = " ".join(text.split())
    if change.op == EQUAL and len(words) > 2 * _CONTEXT + 20:
        words = f"{words[:_CONTEXT]} […] {words[-_CONTEXT:]}"
    return printable(words, _LONGEST_CHANGE)


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON; simhashes are 16 hexadecimal digits."""
    matched, keys = explanation.match, explanation.keys
    return {
        "reason": matched.reason.value,
        "is_duplicate": matched.is_duplicate,
        "finding": matched.check.finding,
        "sentence": matched.sentence,
        "similarity": matched.similarity,
        "min_similarity": explanation.bounds.get("similarity"),
        "lost": matched.lost,
        "words": explanation.words,
        "max_lost_words": explanation.bounds.get("lost"),
        **{key.field: _key_record(key) for key in (keys.content, keys.structure)},
        "reasons": list(explanation.reasons),
    }


def _key_record(key: SimhashKey) -> dict[str, Any]:
    return {
        "canonical": simhash_hex(key.kept),
        "page": simhash_hex(key.page),
        "distance": key.distance,
        "max_distance": key.bound,
        "is_used": key.is_used,
        "is_within": key.is_met,
    }
