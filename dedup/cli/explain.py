"""``dedup explain``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dedup.cli.options import (
    index_option,
    json_option,
    opened,
    settings_for,
    settings_option,
)
from dedup.cli.pages import page_of_row, rows_at
from dedup.cli.showing import agreement_record, explanation_record, show_explanation, texts_of
from dedup.cli.terminal import console, moment, place, print_json, row_record, url_text
from dedup.index import Index, Row, Run
from dedup.recipes.config import DedupConfig
from dedup.report.explanation import Explanation, is_refused, verdict_sentence
from dedup.report.explanation import explain as explained
from dedup.report.side_by_side import SideBySide
from dedup.rule.keys import banding_of
from dedup.values.printable import printable

_MOST_ROWS = 10


@click.command()
@click.argument("url")
@index_option
@settings_option
@json_option
def explain(
    *,
    url: str,
    path: Path | str | None,
    settings: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Say what became of the page at URL, and why; of a file, URL may be its path.

    For each time that the page was seen (the newest ten), it shows the verdict, the page that was kept
    in its place, the words that are lost with it, and what the rule says of the two with today's
    settings; -s tries others. If a page was kept because the check sketches of the index refused a
    match, the page that it would have been dropped for is shown.

    Words are shown where the index keeps the texts, those of its first 500 pages or of all
    (DEDUP_STORE_PAGES), and for files that are there unchanged. --json has the simhashes too, and for
    such pages the words and the runs of tags that agree and that differ. Beside each is its share of
    the weight of the page kept, then of this one.

    \b
    Examples:
      dedup explain https://example.com/page
      dedup explain https://example.com/page -s DEDUP_RECIPE=min_similarity=0.8 --json
    """
    with opened(path) as index:
        chosen = settings_for(index, settings)
        rows = rows_at(index, url)
        pairs = [(row, _other(index, row, chosen.config)) for row in rows[-_MOST_ROWS:]]
        runs = {run.id: run for run in index.runs()}
        if as_json:
            records = [
                row_record(row)
                | {"verdict": verdict_sentence(row, runs.get(row.sighting.run))}
                | (_comparison((canonical, row), index, chosen.config) if canonical else {})
                for row, canonical in pairs
            ]
            print_json(records)
            return
        screen = console()
        if len(rows) > len(pairs):
            screen.print(Text(f"{len(rows):,} rows, the newest {len(pairs):,} of them:\n"))
        for row, canonical in pairs:
            pages = (
                page_of_row(index, canonical, chosen.config) if canonical else None,
                page_of_row(index, row, chosen.config),
            )
            _show_row(screen, row, runs.get(row.sighting.run), texts_of(pages))
            if canonical:
                _show_kept(screen, canonical, row)
                explanation = _now((canonical, row), chosen.config)
                show_explanation(screen, explanation, pages)
            screen.print()
        if not any(canonical for _, canonical in pairs):
            screen.print(Text("Compare it with another page: dedup compare URL OTHER"))


def _other(index: Index, row: Row, config: DedupConfig) -> Row | None:
    """Return the page that *row* repeats, or else one that only the check sketch tells it from."""
    repeated = row.verdict.canonical or row.verdict.represents
    if repeated is not None:
        return index.row(repeated)
    page = row.sighting.fingerprint
    if not page.check_sketch:
        return None
    if banding_of(config) != index.banding:  # there are no lists of them
        config = replace(config, candidates="simhash")
    near = index.views.candidates_of(row, config)
    return next((index.row(c.id) for c in near if is_refused(c.fingerprint, page, config)), None)


def _show_row(screen: Console, row: Row, run: Run | None, texts: SideBySide | None) -> None:
    seen = row.sighting
    state = "" if row.outcome == "confirmed" else f", {row.outcome}"
    screen.print(Text.assemble((url_text(seen.url), "bold"), f"  {place(row)}"))
    if seen.title:
        screen.print(Text(f"  title    {printable(seen.title)}"))
    by = f" by spider {printable(run.spider)!r}" if run and run.spider else ""
    screen.print(Text(f"  seen     {moment(seen.time)}{by}, as {printable(seen.kind)}"))
    verdict = verdict_sentence(row, run)
    if texts and (counted := texts.counted(verdict)) != verdict:
        verdict = f"{counted}{_estimated(row, texts)}"
    screen.print(Text(f"  verdict  {row.verdict.reason}{state}. {verdict}"))


def _estimated(row: Row, texts: SideBySide) -> str:
    """Return a sentence with what the crawl decided by, "" where that is what was counted."""
    lost = row.verdict.lost
    if lost is None or lost == texts.lost:
        return ""
    estimate = f"the crawl had estimated {lost:,}, and dedup report prints the estimate"
    return f" This is an exact count; {estimate}."


def _show_kept(screen: Console, kept: Row, row: Row) -> None:
    if kept.id != row.id:
        url = url_text(kept.sighting.url)
        screen.print(Text.assemble("  kept     ", (url, "bold"), f"  {place(kept)}"))


def _now(pair: tuple[Row, Row], config: DedupConfig) -> Explanation:
    canonical, row = pair
    return explained(canonical.sighting.fingerprint, row.sighting.fingerprint, config, row)


def _comparison(pair: tuple[Row, Row], index: Index, config: DedupConfig) -> dict[str, Any]:
    canonical, row = pair
    record: dict[str, Any] = {"now": explanation_record(_now(pair, config))}
    if row.verdict.canonical is None:
        record["refused_url"] = canonical.sighting.url
    kept, page = (page_of_row(index, one, config) for one in pair)
    return record | agreement_record(kept, page, config)
