"""The tables, and the lists of what is lost, which are for the terminal only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.judged.counting import MOST_LOST, Drop, Figures, Outcome, elsewhere, total
from benchmarks.judged.labels import LABELS, OF_DROPS, Label, of_site
from benchmarks.tables import Row, Table

COLUMNS = (*LABELS, "wrong", "drops", "near", "words lost", f"drops over {MOST_LOST}", "seconds")


def sites_table(title: str, found: Mapping[str, Figures], note: str = "") -> Table:
    """Return a table with a row for each site, and their sum."""
    rows = [row(site, figures) for site, figures in found.items()]
    return Table(title, ("site", *COLUMNS), [*rows, row("all", total(found.values()))], note)


def rules_table(title: str, found: Mapping[str, Figures], refused: Mapping[str, str]) -> Table:
    """Return a table with a row for each rule; *refused* says why others have no figures."""
    rows: list[Row] = [row(rule, figures) for rule, figures in found.items()]
    rows += [(rule, why, *[""] * (len(COLUMNS) - 1)) for rule, why in refused.items()]
    return Table(title, ("rule", *COLUMNS), rows)


def left_out_table(found: Mapping[str, tuple[str, Figures]], rules: int) -> Table:
    """Return a table of the rules that were chosen without the site that they are shown on."""
    rows = [row(site, figures, rule or "none is allowed") for site, (rule, figures) in found.items()]
    every = row("all", total(figures for _, figures in found.values()), "")
    return Table(
        "Rules chosen on the other sites",
        ("site left out", "rule", *COLUMNS),
        [*rows, every],
        note=(
            f"Of {rules} rules the one that drops most pages of label A on the other sites, among those that "
            f"drop at most 15 % of the pages of label C there, and at most 10 pages with over {MOST_LOST} "
            "words that stand on no page kept. They differ in what the settings say; the constants of the "
            "rule are the same in all of them."
        ),
    )


def row(name: str, found: Figures, *more: str) -> Row:
    """Return the cells of a row; labels as pages dropped / dropped for the page of the label / all."""
    shown = [
        f"{found.by_page[label]} / {found.by_pair[label]} / {found.of[label]}"
        if found.of.get(label)
        else ""
        for label in LABELS
    ]
    counts = (found.wrong, f"{found.drops:,}", f"{found.near:,}", f"{found.nowhere:,.0f}", found.heavy)
    return (name, *more, *shown, *counts, f"{found.seconds:.1f}")


def losses(order: str, outcomes: Iterable[Outcome], labels: Sequence[Label]) -> list[str]:
    """Return lines about drops that lose much, and about labelled pages dropped for another page."""
    heavy, moved = [f"Drops that lose over {MOST_LOST} words, order {order}:"], []
    for outcome in outcomes:
        heavy += [
            f"  {drop.nowhere:6g}  {_named(outcome, drop)}\n          {drop.excerpt}"
            for drop in sorted(outcome.drops, key=lambda drop: -drop.nowhere)
            if drop.nowhere > MOST_LOST
        ]
        drops = {drop.page: drop for drop in outcome.drops}
        moved += [
            f"  {label.label} {drop.beside:6g}  {_named(outcome, drop)}\n          {drop.excerpt}"
            for label in of_site(labels, outcome.site)
            if label.label in OF_DROPS and (drop := elsewhere(label, drops))
        ]
    return [
        *heavy,
        "",
        f"Labelled pages dropped for another page, words not on that page, order {order}:",
        *moved,
    ]


def _named(outcome: Outcome, drop: Drop) -> str:
    return f"{outcome.site}: {drop.page} for {drop.other}"
