"""The results of the crawls: rows are checked against the truth, feeds against rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.soak.crawling import Sample
from benchmarks.soak.pages import Kind, Plan
from dedup import SQLiteIndex
from dedup.model.verdict import Outcome

_LINE = re.compile(r'"url": "([^"]+)"')


@dataclass(slots=True)
class Score:
    """Verdicts counted against the truth, by what was visited; *wrong* is a copy of another text."""

    dropped: Counter[Kind] = field(default_factory=Counter)
    missed: Counter[Kind] = field(default_factory=Counter)
    kept: Counter[Kind] = field(default_factory=Counter)
    wrong: Counter[Kind] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        """Of what was dropped, the share that repeats what it was dropped for."""
        right = self.dropped.total()
        return right / max(1, right + self.wrong.total())

    @property
    def recall(self) -> float:
        """Of what repeats a page kept at another URL, the share that was dropped."""
        right = self.dropped.total()
        return right / max(1, right + self.missed.total())


def scores(plan: Plan, index: SQLiteIndex, beginnings: Sequence[int]) -> list[Score]:
    """Return the score of each crawl; *beginnings* are the numbers of the last rows before them.

    A document has its home where it was first met.  A page is a copy if its document has its home
    at another place; a home that gets another text is none any more.
    """
    visits = [_visits_by_place(plan, number) for number in range(len(plan.crawls))]
    found = [Score() for _ in visits]
    home: dict[int, int] = {}
    shows: dict[int, int] = {}
    documents: dict[int, int] = {}
    for row in index.rows():
        if row.outcome is not Outcome.CONFIRMED:  # a crawl was killed here, and the place visited again
            continue
        crawl = sum(row.id > first for first in beginnings) - 1
        place = int(row.sighting.url.rsplit("/")[-1])
        kind, document = visits[crawl][place]
        before = shows.get(place)
        if before is not None and before != document and home.get(before) == place:
            del home[before]
        shows[place] = documents[row.id] = document
        is_copy = home.setdefault(document, place) != place
        canonical = row.verdict.canonical
        score = found[crawl]
        if row.verdict.kept:
            (score.missed if is_copy else score.kept)[kind] += 1
        elif is_copy and canonical is not None and documents[canonical] == document:
            score.dropped[kind] += 1
        else:
            score.wrong[kind] += 1
    return found


def _visits_by_place(plan: Plan, number: int) -> dict[int, tuple[Kind, int]]:
    made = plan.crawls[number]
    triples = zip(made.place.tolist(), made.kind.tolist(), made.document.tolist(), strict=True)
    return {place: (Kind(kind), document) for place, kind, document in triples}


def feed_problems(index: SQLiteIndex, folder: Path, beginnings: Sequence[int]) -> list[str]:
    """Return how the feeds differ from what the index says was kept, a line for each crawl."""
    kept: list[Counter[str]] = [Counter() for _ in beginnings]
    for row in index.rows():
        if row.verdict.kept and row.outcome is Outcome.CONFIRMED:
            kept[sum(row.id > first for first in beginnings) - 1][row.sighting.url] += 1
    problems = []
    for number, expected in enumerate(kept):
        fed = Counter(_fed(folder / f"kept-{number}.jsonl"))
        missing, more = (expected - fed).total(), (fed - expected).total()
        if missing or more:
            problems.append(
                f"the feed of crawl {number} lacks {missing} kept pages and has {more} others"
            )
    return problems


def _fed(path: Path) -> Iterator[str]:
    with path.open() as file:
        for line in file:
            if found := _LINE.search(line):
                yield found[1]


def _parts(samples: Sequence[Sample]) -> Iterator[tuple[int, list[Sample]]]:
    """Yield each crawl with its samples.

    The last sample is taken when a crawl closes, often right after another one.
    """
    for crawl in sorted({sample.crawl for sample in samples}):
        latest = {sample.pages: sample for sample in samples if sample.crawl == crawl}
        yield crawl, list(latest.values())


def tables(samples: Sequence[Sample], found: Sequence[Score], folder: Path) -> str:
    """Return the tables of the report in Markdown."""
    lines = _table(
        *(
            "crawl",
            "pages",
            "minutes",
            "pages/s",
            "pages/s of processor time: first tenth",
            "last tenth",
        ),
        *("memory MB: at a tenth", "at the end", "most", "index MB"),
    )
    for crawl, part in _parts(samples):
        tenth = max(1, len(part) // 10)
        last, early = part[-1], part[tenth - 1]
        lines.append(
            _row(
                *(str(crawl + 1), f"{last.pages:,}", f"{last.wall / 60:.0f}"),
                f"{last.pages / last.wall:.0f}",
                *(f"{early.pages / early.cpu:.0f}", f"{_rate(part[-tenth - 1 :]):.0f}"),
                *(f"{early.memory:.0f}", f"{last.memory:.0f}", f"{max(s.memory for s in part):.0f}"),
                f"{last.index:.0f}",
            )
        )
    lines += [
        "",
        *_table(
            "crawl",
            "visit",
            "visits",
            "kept, rightly",
            "kept, a copy",
            "dropped, rightly",
            "dropped, wrongly",
        ),
    ]
    for number, score in enumerate(found):
        for kind in Kind:
            counts = [each[kind] for each in (score.kept, score.missed, score.dropped, score.wrong)]
            if any(counts):
                lines.append(
                    _row(str(number + 1), kind.name.lower(), *(f"{n:,}" for n in (sum(counts), *counts)))
                )
    lines += [
        "",
        *_table(
            "crawl",
            "precision",
            "recall",
            "ms a page: parse",
            "fingerprint",
            "index",
            "candidates a page",
        ),
    ]
    for number, score in enumerate(found):
        stats = json.loads((folder / f"stats-{number}.json").read_text())
        seen = stats["dedup/seen"]
        steps = [
            f"{stats[f'dedup/seconds/{step}'] * 1000 / seen:.2f}"
            for step in ("parse", "fingerprint", "index")
        ]
        lines.append(
            _row(
                str(number + 1),
                f"{score.precision:.6f}",
                f"{score.recall:.6f}",
                *steps,
                f"{stats['dedup/candidates'] / stats['dedup/lookups']:.3f}",
            )
        )
    return "\n".join(lines)


def _rate(part: Sequence[Sample]) -> float:
    first, last = part[0], part[-1]
    return (last.pages - first.pages) / max(0.01, last.cpu - first.cpu)


def _table(*names: str) -> list[str]:
    return [_row(*names), "|" + "---|" * len(names)]


def _row(*cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
