"""The commands that change what an index knows: restore, forget, merge, check, places, rules."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

import click

from dedup.cli import options
from dedup.files.merge import merge as merged
from dedup.index import Index, Row
from dedup.index.index import open_index
from dedup.index.notes import UrlRules, all_noise, put_noise
from dedup.model.errors import DedupError, counted, printable
from dedup.reading.noise import told
from dedup.report.clusters import Report
from dedup.urls.rule import Proposal, Rule, Rules, UrlVisit, add_rules, contradicted, read_rules

_SHOWN_URL = 100


def restore(*, url: str | None, index: str | None, run: int | None, what: str | None) -> None:
    url, index = options.url_and_index(url, index, is_alone=what is not None or run is not None)
    if (url is None) == (what is None and run is None):
        raise click.UsageError("give a URL, --run or --list")
    with options.opened(index) as there, options.working("looking"):
        options.check_run(there, run)
        urls, rows = list[str](), [] if what else _restored(there, url, run)
        first = {row: there.row(row.origin) for row in rows}  # what is unchanged was a copy then
        if what == "withheld":
            urls = there.runs.never_met(run)
        elif what == "orphans":
            urls = [row.sighting.url for row in there.orphans() if run in (None, row.sighting.run)]
        elif what == "dropped":
            dropped = (row for row in there.rows(run) if not row.verdict.kept and row.outcome.counts)
            urls = [row.sighting.url for row in dropped]
    if what is not None:
        addresses = dict.fromkeys(_address(one) for one in urls if one)
        click.echo("".join(f"{address}\n" for address in addresses), nl=False)
        click.echo(f"{len(addresses) + urls.count(''):,} {what}", err=True)
        return
    none = "an item without URL"
    for row in rows:
        seen = row.sighting
        name = _address(seen.url) or printable(seen.item_key or seen.title) or none
        canonical = printable(row.verdict.canonical_url or "") or none
        click.echo(f"{name}  {first[row].verdict.reason.value} of {canonical}")
    kept = f"will be kept by the next crawl that meets {'it' if len(rows) == 1 else 'them'}"
    click.echo(f"{counted(len(rows), 'page')} {kept}", err=True)


def _restored(index: Index, url: str | None, run: int | None) -> list[Row]:
    """Restore what was dropped at *url* or by *run*, and return the newest row of each page."""
    found = index.ledger.restore(url=url, run=run)
    rows = list({row.sighting.identity: row for row in found}.values())
    if rows or url is None:
        return rows
    if not (seen := index.history(url)):
        raise DedupError(f"{printable(url)} is not in {index.name}")
    kept = ": it was kept" if any(row.verdict.kept for row in seen) else ""
    there = f"nothing was dropped at {printable(url)} that could be restored in {index.name}"
    raise DedupError(there + kept)


def _address(url: str) -> str:
    """Return *url* with all that could act on a terminal percent-encoded; it can still be crawled."""
    return "".join(
        letter if letter.isprintable() and letter != " " else quote(letter, "") for letter in url
    )


def forget(*, url: str | None, index: str | None, run: int | None, older_than: float | None) -> None:
    url, index = options.url_and_index(url, index, is_alone=run is not None or older_than is not None)
    if (run is None) + (url is None) + (older_than is None) != 2:
        raise click.UsageError("give a URL, --run or --older-than, one of the three")
    since = time.time() - (older_than or 0)
    with options.opened(index) as there:
        options.check_run(there, run)
        forgotten = partial(there.ledger.forget, url=url, unseen_since=since)
        if run is not None:
            forgotten = partial(there.runs.forget, run)
        if sys.stdin.isatty():
            count = 0
            # It is done in a transaction that is undone.
            with options.working("counting"), suppress(click.Abort), there.batch():
                count = forgotten()
                raise click.Abort
            what = f"Forget {counted(count, 'row')} of {options.named(there.name)}?"
            if count:
                click.confirm(what, abort=True, err=True)
        with options.working("forgetting"):
            count = forgotten()
        if url is not None and not count:
            what = f"nothing was seen at {printable(url)} that could be forgotten"
            raise DedupError(f"{what} in {there.name}")
    click.echo(f"{counted(count, 'row is', 'rows are')} forgotten.")


def merge(*, other: str, index: str | None, settings: options.Given) -> None:
    with (
        options.opened(other, read_only=True) as there,
        open_index(options.index_place(index, settings)) as here,
    ):
        config = options.settings_for(here.name, settings).config
        with options.progress_bar(f"merging {options.named(Path(there.name).name)}") as progress:
            done = merged(there, here, config, progress)
        click.echo(f"{options.named(there.name)}: {done}")


def check(*, index: str | None) -> None:
    with options.opened(index) as there, options.working("checking"):
        problems = there.problems()
    for problem in problems or [f"{there.name} is sound."]:
        click.echo(options.named(problem))
    if problems:
        sys.exit(1)


def places(*, index: str | None, off: tuple[int, ...]) -> None:
    with options.opened(index, read_only=not off) as there:
        found = [
            (site, gap, site.gaps[gap])
            for site in all_noise(there.store)
            for gap in told(
                gap for gap, one in site.gaps.items() if one.acts(gap) or one.is_off or one.is_of_site
            )
        ]
        if wrong := [number for number in off if not 1 <= number <= len(found)]:
            raise DedupError(f"there is no place {wrong[0]}; see `dedup places`")
        for site, gap, _ in (found[number - 1] for number in off):
            narrow = [other for other in site.gaps if other == gap or other not in told([gap, other])]
            site.gaps.update({other: site.gaps[other]._replace(is_off=True) for other in narrow})
            put_noise(there.store, site)
            shown = printable(gap.shown())
            click.echo(f"{printable(site.host)}: {shown} is not left out any more")
    if off:
        return
    for number, (site, gap, evidence) in enumerate(found, 1):
        moved, stayed = evidence.pages
        pages = f"changed on {counted(moved, 'page')}, stayed on {stayed}"
        shown = printable(gap.shown())
        of_site = " (on all pages, so no change of one)" * evidence.is_of_site
        what = f"{printable(site.host)}: {shown}{' (off)' if evidence.is_off else of_site}"
        _show(number, what, f"{pages}; in {printable(gap.place)}", printable(evidence.example))
    if not found:
        click.echo("no places are known whose content changes by itself")


def _show(number: int, what: str, *lines: str) -> None:
    click.secho(f"{number:>3}  {what}", bold=True)
    for line in lines:
        click.echo(f"     {line}")


def rules(*, index: str | None, accept: tuple[int, ...], file: Path) -> None:
    with options.opened(index) as there:
        book = UrlRules(there.store)
        # What the last crawl of each spider has proposed, each rule once, most groups first.
        last = {crawl.spider: crawl for crawl in reversed(book.proposed())}
        found = {one.rule: one for crawl in last.values() for one in crawl.proposals}
        proposed = sorted(found.values(), key=lambda one: (one.rule.host, -one.groups, one.rule))
        off = [*book.wrong().values()]
        every = [*(one.rule for one in proposed), *(one.rule for one in off)]
        if wrong := [number for number in accept if not 1 <= number <= len(every)]:
            raise DedupError(f"there is no rule {wrong[0]}; see `dedup rules`")
        if accept:
            chosen = [every[number - 1] for number in accept]
            add_rules(file, [found.get(one, Proposal(one, 0, 0, ())) for one in chosen])
            book.forgive(chosen)
            for rule in chosen:
                click.echo(f"{printable(str(file))}: {_name(rule)}")
            return
        merged = _merged(there, found) if found else Counter[Rule]()
        why_none = "" if every else _why_none(there)
    accepted = set(read_rules(file)) if file.exists() else set()
    for number, one in enumerate(proposed, 1):
        records = counted(merged[one.rule], "page that may be a record", "pages that may be records")
        pairs = (tuple(printable(url, _SHOWN_URL) for url in pair) for pair in one.examples)
        _show(
            number,
            f"{_name(one.rule)}{' (accepted)' * (one.rule in accepted)}",
            f"{one.groups:,} groups of URLs, alike but for this, show one page each; "
            f"{counted(one.pages, 'page')} in all",
            *("{} shows the same as {}".format(*pair) for pair in pairs),
            *[f"DO NOT ACCEPT IT UNSEEN: it takes away {records}, see dedup report"]
            * bool(merged[one.rule]),
        )
    for number, case in enumerate(off, len(proposed) + 1):
        url, other = (printable(url, _SHOWN_URL) for url in (case.url, case.other))
        why = f"{url} does not show the same as {other}: {printable(case.reason)}"
        _show(number, f"{_name(case.rule)}: off", why)
    if not every:
        click.echo(f"no rules are proposed{why_none}")
    elif proposed:
        click.echo('to accept one: dedup rules --accept 1; crawls obey DEDUP_RULES = "rules.toml"')


def _why_none(index: Index) -> str:
    """Return why the last crawl has proposed no rules, as far as what its pages show tells it."""
    runs = [run.id for run in index.runs.all() if run.spider and not run.is_imported]
    rows = index.rows(runs[-1]) if runs else ()
    shown = ((row, row.verdict.represents or row.verdict.canonical or row.id) for row in rows)
    if not (found := contradicted(UrlVisit(row.sighting.url, (page,), ()) for row, page in shown)):
        few = "too few pages of the last crawl were at several addresses that are alike"
        return f": {few}, or it met too many to compare" * bool(runs)
    held, rule, url, other = found
    against = f"{printable(url, _SHOWN_URL)} and {printable(other, _SHOWN_URL)} show two pages"
    return f": {_name(rule)} by {counted(held, 'group')} of URLs, but {against}"


def _merged(index: Index, rules: Iterable[Rule]) -> Counter[Rule]:
    """Return for how many copies that may be records each of *rules* takes two URLs for one."""
    report, found = Report(index, config=options.settings_for(index.name).config), Counter[Rule]()
    for row in index.rows_of(report.losses.records):
        pair = row.sighting.url, row.verdict.canonical_url
        found.update(one for one in rules if len({Rules([one]).normal(url)[0] for url in pair}) == 1)
    return found


def _name(rule: Rule) -> str:
    return f"{printable(rule.host)}: {rule.words}"
