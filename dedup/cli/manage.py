"""The commands that change what an index knows: restore, forget, merge, check, places."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import click
from rich.text import Text

from dedup.cli.options import (
    Given,
    Place,
    age,
    check_run,
    index_option,
    index_place,
    index_type,
    json_option,
    nearest,
    opened,
    settings_for,
    settings_option,
    url_and_index,
)
from dedup.cli.output import console, named, print_json, progress_bar, row_record, working
from dedup.files.merge import merge as merged
from dedup.index import Index
from dedup.index.address import short_name
from dedup.index.index import SQLiteIndex, open_index
from dedup.index.notes import all_noise, put_noise
from dedup.model.errors import DedupError
from dedup.model.printable import printable
from dedup.reading.noise import told
from dedup.report.counts import counted

_LISTS = ("dropped", "orphans", "withheld")


@click.command()
@click.argument("url", required=False)
@index_option
@click.option("--run", type=int, help="What this run dropped or withheld, see `dedup report`.")
@click.option(
    "--list", "what", type=click.Choice(_LISTS), help="Only print the URLs of these; restore nothing."
)
@json_option
def restore(
    *, url: str | None, path: Place | None, run: int | None, what: str | None, as_json: bool
) -> None:
    """Have the next crawl keep what was dropped at URL, or by a run.

    Lists each dropped page with the page that it repeats. The next crawl that meets it keeps it,
    whatever it repeats then.

    --list prints URLs that a spider can crawl again, one a line: of pages that were dropped, of orphans
    (dropped for a page that was forgotten, or lost on its way to storage), or of withheld links (not
    requested because they stood on a copy, and not met since). --json
    says more of each, and has pages without URL too.

    \b
    Examples:
      dedup restore https://example.com/page
      dedup restore --run 3
      dedup restore --list orphans > again.txt; scrapy crawl urls -a file=again.txt
      dedup restore --list withheld --run 3
    """
    url, path = url_and_index(url, path, is_alone=what is not None or run is not None)
    if url is not None and (what is not None or run is not None):
        raise click.UsageError("give a URL, or --run and --list")
    if url is None and what is None and run is None:
        raise click.UsageError("give a URL, --run or --list")
    with opened(path) as index, working("looking"):
        check_run(index, run)
        found = _restored(index, url, run) if what is None else _listed(index, what, run)
    if as_json:
        print_json(found)
    elif what is None:
        _tell(found)
    else:
        for address in dict.fromkeys(_address(one["url"]) for one in found if one["url"]):
            click.echo(address)
        click.echo(f"{len(found):,} {what}", err=True)


def _listed(index: Index, what: str, run: int | None) -> list[dict[str, Any]]:
    """Return what is in a list, of one *run* or of all."""
    if what == "withheld":
        found = index.runs.never_met(run)
        return [{"url": one.url, "row": one.row, "run": one.run} for one in found]
    if what == "orphans":
        rows = index.orphans()
        return [row_record(row) for row in rows if run in (None, row.sighting.run)]
    return [row_record(row) for row in index.rows(run) if not row.verdict.kept and row.outcome.stands]


def _restored(index: Index, url: str | None, run: int | None) -> list[dict[str, Any]]:
    """Restore what was dropped at *url* or by *run*, and return it."""
    if url is None:
        return list(map(row_record, index.ledger.restore_run_copies(run or 0)))
    if rows := index.ledger.restore_url_copies(url):
        return list(map(row_record, rows))
    dropped = (row.sighting.url for row in index.rows() if not row.verdict.kept)
    there = f"nothing was dropped at {printable(url)} that could be restored in {index.name}"
    is_kept = any(row.verdict.kept for row in index.history(url))
    raise DedupError(f"{there}: it was kept" if is_kept else there + nearest(url, dropped))


def _tell(found: list[dict[str, Any]]) -> None:
    none = "an item without URL"
    for one in found:
        name = _address(one["url"]) or printable(one["item_key"] or one["title"]) or none
        click.echo(f"{name}  {one['reason']} of {printable(one['canonical_url']) or none}")
    kept = f"will be kept by the next crawl that meets {'it' if len(found) == 1 else 'them'}"
    click.echo(f"{counted(len(found), 'page')} {kept}", err=True)


def _address(url: str) -> str:
    """Return *url* with all that could act on a terminal percent-encoded; it can still be crawled."""
    return "".join(
        letter if letter.isprintable() and letter != " " else quote(letter, "") for letter in url
    )


@click.command()
@click.argument("url", required=False)
@index_option
@click.option("--run", type=int, help="Undo the run of this number, see `dedup report`.")
@click.option(
    "--older-than", type=age, help="Forget what was neither seen nor repeated for so long: 30d."
)
@click.option("--dry-run", is_flag=True, help="Only say how many rows; forget nothing.")
def forget(
    *, url: str | None, path: Place | None, run: int | None, older_than: float | None, dry_run: bool
) -> None:
    """Forget what was seen at URL, by a run, or long ago: nothing is compared with it any more.

    Pages that were dropped for it become orphans; `dedup restore --list orphans` lists these. The rows
    stay in the index as forgotten, but the texts that DEDUP_STORE_PAGES kept are deleted, and with
    --older-than the rows of lost pages. This cannot be undone, so on a terminal it asks before.

    \b
    Examples:
      dedup forget --run 3
      dedup forget https://example.com/page
      dedup forget --older-than 90d --dry-run
    """
    url, path = url_and_index(url, path, is_alone=run is not None or older_than is not None)
    if (run is None) + (url is None) + (older_than is None) != 2:
        raise click.UsageError("give a URL, --run or --older-than, one of the three")
    since = time.time() - (older_than or 0)
    with opened(path) as index:
        check_run(index, run)

        def forgotten() -> int:
            if run is not None:
                return index.runs.forget(run)
            if url is not None:
                return index.ledger.forget_url(url)
            return index.ledger.forget_unseen_since(since)

        is_asked = not dry_run and sys.stdin.isatty()
        if dry_run or is_asked:
            count = _tried(index, forgotten)
        if is_asked:
            click.confirm(f"Forget {count:,} rows of {named(index.name)}?", abort=True, err=True)
        if not dry_run:
            with working("forgetting"):
                count = forgotten()
    click.echo(f"{count:,} rows {'would be' if dry_run else 'are'} forgotten.")


class _Undo(Exception):  # noqa: N818 - nothing went wrong
    """Takes back what was forgotten to count it."""


def _tried(index: Index, forgotten: Callable[[], int]) -> int:
    """Return how many rows would be *forgotten*: that is done in a transaction that is undone."""
    count = 0
    with working("counting"), suppress(_Undo), index.batch():
        count = forgotten()
        raise _Undo
    return count


@click.command()
@click.argument("other", type=index_type)
@index_option
@settings_option
def merge(*, other: Place, path: Place | None, settings: Given) -> None:
    """Judge the pages of the index OTHER into the index; a missing index is created.

    The pages of OTHER are judged in their order as if they were crawled now, in new runs: the pages
    that are already there count as the older ones and stay. So begin with the index whose pages shall
    be kept. OTHER stays as it is.

    What was merged once is not merged again: the same index may be given later, and adds only what is
    new in it. An index whose fingerprints were made by another recipe is refused before anything is
    written. Texts of pages stay in their index.

    \b
    Examples:
      dedup merge monday.db week.db
      dedup merge pages.db postgresql://crawler@db.example/crawls
    """
    with opened(other, read_only=True) as there, open_index(index_place(path)) as index:
        config = settings_for(index, settings).config
        with progress_bar(f"merging {named(short_name(there.name))}") as progress:
            done = merged(there, index, config, progress)
        click.echo(f"{named(there.name)}: {done}")


@click.command()
@index_option
@click.option("--rebuild", is_flag=True, help="Make the posting lists anew from the rows before.")
def check(*, path: Place | None, rebuild: bool) -> None:
    """Test whether the file is sound; the exit code is 1 if it is not.

    SQLite tests the file, the posting lists are compared with the rows, and the stored pages are read.

    --rebuild makes the posting lists anew, after damage. The file does not change until they are whole.

    \b
    Examples:
      dedup check
      dedup check pages.db --rebuild
    """
    with opened(path) as index:
        if rebuild and not isinstance(index, SQLiteIndex):
            raise DedupError(f"{named(index.name)} has no posting lists; --rebuild is for files")
        if rebuild:
            with progress_bar("rebuilding") as progress:
                index.store.rebuild(progress)
            click.echo(f"{named(index.name)} is rebuilt.")
        with working("checking"):
            problems = index.problems()
    for problem in problems or [f"{named(index.name)} is sound."]:
        click.echo(named(problem))
    if problems:
        sys.exit(1)


@click.command()
@index_option
@click.option("--off", type=int, multiple=True, help="Never leave out the place of this number.")
@json_option
def places(*, path: Place | None, off: tuple[int, ...], as_json: bool) -> None:
    """List the places of sites whose content changes by itself: counters, clocks, links drawn at random.

    Crawls ask for some pages twice. What differs then is left out of the pages of the host before they
    are compared. "#" stands for what is left out. Each place has a number, on how many pages it has
    changed and stayed, and an example. If a place tells pages apart, switch it off.

    \b
    Examples:
      dedup places
      dedup places --off 2
    """
    with opened(path, read_only=not off) as index:
        found = [
            (site, gap, site.gaps[gap])
            for site in all_noise(index.store)
            for gap in told(gap for gap, one in site.gaps.items() if one.acts(gap) or one.is_off)
        ]
        if wrong := [number for number in off if not 1 <= number <= len(found)]:
            raise DedupError(f"there is no place {wrong[0]}; see `dedup places`")
        for site, gap, _ in (found[number - 1] for number in off):
            narrow = [one for one in site.gaps if one == gap or one not in told([gap, one])]
            site.gaps.update({one: site.gaps[one]._replace(is_off=True) for one in narrow})
            put_noise(index.store, site)
            click.echo(f"{printable(site.host)}: {printable(gap.shown())} is not left out any more")
    if off:
        return
    if as_json:
        records = (
            {"host": site.host, "what": gap.shown(), **gap._asdict(), **evidence._asdict()}
            | {"left_out": evidence.acts(gap)}
            for site, gap, evidence in found
        )
        print_json(list(records))
        return
    screen = console()
    for number, (site, gap, evidence) in enumerate(found, 1):
        title = f"{printable(site.host)}: {printable(gap.shown())}{' (off)' * evidence.is_off}"
        pages = f"changed on {evidence.moved:.0f} pages, stayed on {evidence.stayed:.0f}"
        screen.print(Text(f"{number:>3}  {title}", "bold"))
        screen.print(Text(f"     {pages}; in {printable(gap.place)}"))
        screen.print(Text(f"     {printable(evidence.example)}"))
    if not found:
        screen.print(Text("no places are known whose content changes by itself"))
