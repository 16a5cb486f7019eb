"""Tables of the figures, in Markdown for readers and CSV for programs."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isnan, nan
from statistics import median

from benchmarks.accuracy.evaluation import Library, Run
from benchmarks.accuracy.judging import MEASURES, Score
from benchmarks.accuracy.peers import PeerScore
from benchmarks.accuracy.recipes import DEFAULT
from benchmarks.accuracy.scoring import Interval
from benchmarks.accuracy.sets import site

Row = Sequence[object]
Rate = tuple[int, int]

MANUALS = ("libreoffice-zh-cn", "postgresql", "python")


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Row]
    note: str = ""

    def markdown(self) -> str:
        lines = [f"## {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        lines += [_line(self.header), "|" + "---|" * len(self.header), *map(_line, self.rows)]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that the default has to reach, at *limit* or better.

    *part* is a set, then *value* is given all its parts, or one part of it.
    """

    part: str
    figure: str
    value: Callable[[Sequence[Score]], float]
    limit: float
    is_most: bool = False

    def row(self, runs: Sequence[Run]) -> Row:
        values = [self.value(scores) for scores in self._scores(runs)]
        worst = (max if self.is_most else min)(values)
        reached = worst <= self.limit if self.is_most else worst >= self.limit
        return (
            self.part,
            self.figure,
            f"{'at most' if self.is_most else 'at least'} {_plain(self.limit)}",
            _plain(median(values)),
            _plain(worst),
            "yes" if reached else "**no**",
        )

    def is_in(self, runs: Sequence[Run]) -> bool:
        return all(self._scores(runs))

    def _scores(self, runs: Sequence[Run]) -> list[list[Score]]:
        return [
            [score for score in run.scores if f"{score.part}/".startswith(f"{self.part}/")]
            for run in runs
        ]


def _f1(score: Score) -> float:
    return score.rule.f1


def _wrong(score: Score) -> float:
    return score.rule.wrong


def _template_f1(score: Score) -> float:
    return score.template.f1


def _least_f1(scores: Sequence[Score]) -> float:
    return min(map(_f1, scores))


def _least_template_f1(scores: Sequence[Score]) -> float:
    return min(map(_template_f1, scores))


def _all_wrong(scores: Sequence[Score]) -> float:
    return sum(map(_wrong, scores))


def _within_rate(scores: Sequence[Score]) -> float:
    dropped, pairs = (sum(score.within[place] for score in scores) for place in (0, 1))
    return dropped / pairs if pairs else nan


_WITHIN = "dropped of label 1, losing no more than is allowed"

# Fixed before the first run of the rule of loss, for whole sets; that of a manual shows where one falls short.
BARS = (
    Bar("edited_articles", "F1", _least_f1, 0.98),
    Bar("edited_articles", "false positives", _all_wrong, 0, is_most=True),
    Bar("manual_versions", _WITHIN, _within_rate, 0.99),
    *(Bar(f"manual_versions/{manual}", _WITHIN, _within_rate, 0.99) for manual in MANUALS),
    Bar("manual_versions", "false positives", _all_wrong, 2, is_most=True),
    Bar("page_compare", "F1 of the structural distance", _least_template_f1, 0.95),
)


def tables(runs: Sequence[Run], pages: Library) -> list[Table]:
    """Return all tables of ours, those of the shipped default first."""
    shipped = [run for run in runs if run.plan.recipe == DEFAULT]
    others = [run for run in runs if run.plan.recipe != DEFAULT]
    found = []
    if shipped:
        found = [
            _bars(shipped),
            _shipped(shipped),
            _losses(shipped),
            _rates("Dropped by group", "group", shipped, lambda score: score.groups),
            _rates("Dropped by similarity", "Jaccard", shipped, lambda score: score.bands),
            _wrong_drops(shipped),
        ]
    if others:
        # The default leads, to compare with.
        found += _by_recipe([*shipped[:1], *others])
    if any(run.mix for run in runs):
        found += [_mixes(runs, pages), _unrelated(shipped, pages)]
    return [table for table in found if table.rows]


def peer_table(scores: Sequence[PeerScore], failures: Mapping[str, str]) -> Table:
    """Return the table of the peers; *failures* says why others could not be run."""
    rows: list[Row] = [
        (
            score.peer,
            score.part,
            f"{score.pairs:,}" + (f" of {score.of:,}" if score.of != score.pairs else ""),
            score.source,
            *((_plain(score.rule.precision), _plain(score.rule.recall)) if score.rule else ("", "")),
            _plain(score.rule.f1) if score.rule else "",
            f"{score.rule.wrong:,.0f}" if score.rule else "",
            f"{_plain(score.best[0])} from {score.best[1]:.3g}",
            _with_interval(score.area, score.area_interval),
            f"{score.page_seconds * 1e3:.2f}" if score.page_seconds else "",
            f"{score.pair_seconds * 1e3:.3f}",
            score.failures,
        )
        for score in scores
    ]
    rows += [(peer, "", "", "", "", "", "", "", "", "", "", "", why) for peer, why in failures.items()]
    return Table(
        "Peers on the same pairs",
        (
            "peer",
            "set",
            "pairs",
            "threshold",
            "precision",
            "recall",
            "F1",
            "false positives",
            "best F1 in hindsight",
            "AUC",
            "ms a page",
            "ms a pair",
            "failed",
        ),
        rows,
        note=(
            "The best F1 is for the threshold that is best on these very pairs: a bound, not a result. Where "
            "pairs were sampled (all of label 1, at most half; the others drawn), precision, F1 and false "
            "positives are weighted up."
        ),
    )


def scores_csv(runs: Sequence[Run]) -> str:
    """Return every figure of every recipe and set, one such in a line."""
    rows = [dict(_record(run, score)) for run in runs for score in run.scores]
    file = StringIO()
    if rows:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return file.getvalue()


def _record(run: Run, score: Score) -> Iterable[tuple[str, object]]:
    yield from (("recipe", run.plan.recipe), ("set", score.part))
    for name, counts, bounds in (
        ("rule", score.rule, score.rule_intervals),
        ("template", score.template, score.template_intervals),
    ):
        for field in ("hits", "misses", "wrong", "right"):
            yield f"{name}_{field}", round(getattr(counts, field))
        for field in ("precision", "recall", "f1"):
            yield f"{name}_{field}", _digits(getattr(counts, field))
            yield f"{name}_{field}_low", _digits(bounds[field][0])
            yield f"{name}_{field}_high", _digits(bounds[field][1])
    for measure in MEASURES:
        yield f"auc_{measure}", _digits(score.areas[measure])
        yield f"auc_{measure}_low", _digits(score.area_intervals[measure][0])
        yield f"auc_{measure}_high", _digits(score.area_intervals[measure][1])
    yield from (("within", score.within[1]), ("within_dropped", score.within[0]))
    yield from (("beyond", score.beyond[1]), ("beyond_dropped", score.beyond[0]))
    yield from (("grey", score.grey), ("grey_dropped", score.grey_dropped))
    yield "seconds", f"{score.seconds:.2f}"


def _bars(runs: Sequence[Run]) -> Table:
    rows = [bar.row(runs) for bar in BARS if bar.is_in(runs)]
    if mixes := [run.mix for run in runs if run.mix]:
        counts = [len(found.unrelated) for found in mixes]
        met = "yes" if not any(counts) else "**no**"
        rows.append(
            ("all mixed", "unrelated pages", "at most 0", _plain(median(counts)), max(counts), met)
        )
    return Table(
        "The shipped default against targets fixed beforehand",
        ("set", "figure", "target", "median", "worst", "reached"),
        rows,
    )


def _shipped(runs: Sequence[Run]) -> Table:
    return Table(
        "The shipped default",
        ("set", "pairs 1 / 0 / grey", *(name for name, _, _ in _FIGURES)),
        [
            (part, _sizes(scores[0]), *(_spread(scores, value, worst) for _, value, worst in _FIGURES))
            for part, scores in _by_part(runs).items()
        ],
        note="The median; in brackets the worst, which for grey pairs and seconds is the highest.",
    )


_FIGURES: tuple[tuple[str, Callable[[Score], float], Callable[[Iterable[float]], float]], ...] = (
    ("precision", lambda score: score.rule.precision, min),
    ("recall", lambda score: score.rule.recall, min),
    ("F1", _f1, min),
    ("false positives", _wrong, max),
    ("F1 of structure", _template_f1, min),
    ("AUC content", lambda score: score.areas["content"], min),
    ("AUC structure", lambda score: score.areas["structure"], min),
    ("AUC similarity", lambda score: score.areas["similarity"], min),
    ("grey dropped", lambda score: score.grey_rate, max),
    ("seconds", lambda score: round(score.seconds, 1), max),
)


def _by_recipe(runs: Sequence[Run]) -> list[Table]:
    parts = [score.part for score in runs[0].scores]
    return [
        _scores(f"Recipes on {part}", [(run, run.scores[place]) for run in runs])
        for place, part in enumerate(parts)
    ]


def _scores(title: str, scores: Sequence[tuple[Run, Score]]) -> Table:
    return Table(
        title,
        (
            "recipe",
            "set",
            "precision",
            "recall",
            "F1",
            "false positives",
            "F1 of structure",
            "AUC content",
            "AUC structure",
            "AUC similarity",
            "grey dropped",
            "seconds",
        ),
        [
            (
                run.plan.recipe,
                score.part,
                *(
                    _with_interval(getattr(score.rule, name), score.rule_intervals[name])
                    for name in ("precision", "recall", "f1")
                ),
                _plain(score.rule.wrong),
                _with_interval(score.template.f1, score.template_intervals["f1"]),
                *(
                    _with_interval(score.areas[measure], score.area_intervals[measure])
                    for measure in MEASURES
                ),
                _plain(score.grey_rate),
                f"{score.seconds:.1f}",
            )
            for run, score in scores
        ],
        note="In brackets: 95 % bootstrap intervals over pairs.",
    )


def _losses(runs: Sequence[Run]) -> Table:
    return Table(
        "Pairs of label 1 by what the second page would lose",
        ("set", "pairs within the bounds", "dropped", "pairs beyond", "dropped"),
        [
            (
                score.part,
                score.within[1],
                _rate(score.within),
                score.beyond[1],
                _rate(score.beyond),
            )
            for run in runs
            for score in run.scores
        ],
        note=(
            "Words of the second page in runs of four words that the first one does not have, counted "
            "exactly. The bounds are those of `max_lost_words`, see "
            "[the settings](reference/settings.md)."
        ),
    )


def _rates(
    title: str, kind: str, runs: Sequence[Run], rates: Callable[[Score], Mapping[str, Rate]]
) -> Table:
    return Table(
        title,
        ("set", kind, "pairs", *("dropped" for _ in runs)),
        [
            (part, name, pairs, *(_share(rates(score)[name]) for score in scores))
            for part, scores in _by_part(runs).items()
            for name, (_, pairs) in rates(scores[0]).items()
        ],
        note="For label 1 this is recall, for label 0 the rate of false positives.",
    )


def _wrong_drops(runs: Sequence[Run]) -> Table:
    return Table(
        "Pairs of label 0 that were dropped",
        ("set", "a", "b"),
        [(score.part, a, b) for run in runs for score in run.scores for a, b in score.wrong],
    )


def _mixes(runs: Sequence[Run], pages: Library) -> Table:
    return Table(
        "All pages mixed",
        ("recipe", "pairs", "copies", "unrelated, two sites", "unrelated, one site"),
        [
            (
                run.plan.recipe,
                f"{run.mix.pairs:,}",
                f"{run.mix.copies:,}",
                sum(_are_two_sites(pages, pair) for pair in run.mix.unrelated),
                sum(not _are_two_sites(pages, pair) for pair in run.mix.unrelated),
            )
            for run in runs
            if run.mix
        ],
        note=(
            "Every page of every set is compared with every other one. Copies are unrelated if the exact "
            "Jaccard similarity of their pairs of neighbouring words is below .1."
        ),
    )


def _unrelated(runs: Sequence[Run], pages: Library) -> Table:
    return Table(
        "Unrelated pages that the default calls copies",
        ("a", "b"),
        [
            ("/".join(pages.names[a]), "/".join(pages.names[b]))
            for run in runs
            if run.mix
            for a, b in run.mix.unrelated
        ],
    )


def _are_two_sites(pages: Library, pair: tuple[int, int]) -> bool:
    (set_a, path_a), (set_b, path_b) = (pages.names[page] for page in pair)
    return (set_a, site(path_a)) != (set_b, site(path_b))


def _by_part(runs: Sequence[Run]) -> dict[str, list[Score]]:
    return {
        score.part: [run.scores[place] for run in runs] for place, score in enumerate(runs[0].scores)
    }


def _sizes(score: Score) -> str:
    ones, zeros = score.rule.hits + score.rule.misses, score.rule.wrong + score.rule.right
    return f"{ones:,.0f} / {zeros:,.0f} / {score.grey:,}"


def _spread(
    scores: Sequence[Score],
    value: Callable[[Score], float],
    worst: Callable[[Iterable[float]], float],
) -> str:
    values = [value(score) for score in scores]
    if any(map(isnan, values)):
        return ""
    return f"{_plain(median(values))} ({_plain(worst(values))})"


def _with_interval(value: float, bounds: Interval) -> str:
    return "" if isnan(value) else f"{_plain(value)} [{_plain(bounds[0])}, {_plain(bounds[1])}]"


def _rate(rate: Rate) -> str:
    return _share(rate) if rate[1] else ""


def _share(rate: Rate) -> str:
    return _plain(rate[0] / rate[1])


def _plain(value: float) -> str:
    """Return *value* as short as it can be said with four digits after the point, "" for nan."""
    return "" if isnan(value) else f"{value:.4f}".rstrip("0").rstrip(".")


def _digits(value: float) -> str:
    return "" if isnan(value) else f"{value:.6f}"


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
