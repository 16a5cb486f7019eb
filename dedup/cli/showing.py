"""An explanation and a diff, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.report.diff import DELETE, EQUAL, INSERT, REPLACE, Change
from dedup.report.explanation import Distance, Explanation, Features
from dedup.values.printable import printable
from dedup.values.simhashes import SIMHASH_BITS, simhash_hex

# Of a long stretch that did not change, so many characters are shown on each side.
_CONTEXT = 60
_LONGEST_CHANGE = 10_000
_GROUP = 8
_SIGNS = {EQUAL: "=", INSERT: "+", DELETE: "-", REPLACE: "~"}


def bits(simhash: int) -> str:
    """Return the bits of *simhash*, the highest first, in groups of eight."""
    digits = f"{simhash:0{SIMHASH_BITS}b}"
    return " ".join(digits[start : start + _GROUP] for start in range(0, SIMHASH_BITS, _GROUP))


def distance_lines(distance: Distance) -> Iterator[Text]:
    """Yield two simhashes bit by bit, with a mark under each bit in which they differ."""
    yield Text(f"{distance.field} simhashes", "bold")
    if distance.bits is None:
        yield Text("  not both pages have one")
        return
    differing = bits(distance.canonical ^ distance.page)
    for simhash in (distance.canonical, distance.page):
        line = Text("  ")
        for digit, differs in zip(bits(simhash), differing, strict=True):
            line.append(digit, "bold red" if differs == "1" else "")
        yield line
    marks = "".join("^" if differs == "1" else " " for differs in differing).rstrip()
    if marks:
        yield Text(f"  {marks}", "red")
    side = "within" if distance.is_within else "not within"
    limit = f"{side} the {distance.limit} allowed" if distance.is_used else "not used"
    yield Text(f"  {distance.bits} of {SIMHASH_BITS} bits differ, {limit}")


def show_explanation(screen: Console, found: Explanation) -> None:
    """Print the measurements and the reasons."""
    for distance in (found.content, found.structure):
        for line in distance_lines(distance):
            screen.print(line)
    limit = "not asked for" if found.min_similarity is None else f"at least {found.min_similarity:g}"
    screen.print(Text.assemble(("similarity", "bold"), f"  {found.match.similarity:.3f}, {limit}"))
    for reason in found.reasons:
        screen.print(Text(f"  {reason}"))


def show_features(screen: Console, what: str, features: Features, limit: int) -> None:
    """Print what two pages share and do not share, the heaviest first."""
    screen.print(Text(f"{what}: {features.agreement:.0%} of the weight agrees", "bold"))
    screen.print(Text("    first  second  (share of each page's weight)"))
    for title, found in (("in both", features.shared), ("in one only", features.alone)):
        screen.print(Text(f"  {title}: {len(found):,}"))
        for feature in found[:limit]:
            weights = f"{feature.canonical:>7.2%} {feature.page:>7.2%}"
            screen.print(Text(f"    {weights}  {printable(feature.name)}"))


def show_diff(screen: Console, changes: Iterable[Change], *, side_by_side: bool) -> None:
    """Print the changes of a text: in colours on a terminal, else as [-old-] {+new+}."""
    if side_by_side:
        table = Table("", "A", "B", expand=True)
        for change in changes:
            before, after = (_shown(change, text) for text in (change.before, change.after))
            marked = change.op != EQUAL
            styles = ("red", "green") if marked else ("", "")
            table.add_row(_SIGNS[change.op], Text(before, styles[0]), Text(after, styles[1]))
        screen.print(table, soft_wrap=False)
        return
    line = Text()
    for change in changes:
        if change.op == EQUAL:
            line.append(f"{_shown(change, change.before)} ")
            continue
        for text, (begin, end), style in (
            (change.before, ("[-", "-]"), "red strike"),
            (change.after, ("{+", "+}"), "bold green"),
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


def explanation_record(found: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON; simhashes are 16 hexadecimal digits."""
    return {
        "reason": found.match.reason.value,
        "is_duplicate": found.match.is_duplicate,
        "similarity": found.match.similarity,
        "min_similarity": found.min_similarity,
        **{
            distance.field: {
                "canonical": simhash_hex(distance.canonical),
                "page": simhash_hex(distance.page),
                "distance": distance.bits,
                "max_distance": distance.limit,
                "is_used": distance.is_used,
                "is_within": distance.is_within,
            }
            for distance in (found.content, found.structure)
        },
        "reasons": list(found.reasons),
    }


def features_record(features: Features, limit: int) -> dict[str, Any]:
    """Return the heaviest features for JSON, with their shares of the weight of both pages."""
    return {
        "agreement": features.agreement,
        **{
            name: [
                {"name": feature.name, "canonical": feature.canonical, "page": feature.page}
                for feature in found[:limit]
            ]
            for name, found in (("shared", features.shared), ("alone", features.alone))
        },
    }
