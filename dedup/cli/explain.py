"""``dedup explain``: what became of a page and why, against which page, and what helps."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from difflib import get_close_matches
from itertools import groupby
from os.path import isfile
from pathlib import Path
from shlex import quote

import click

from dedup.cli.options import Given, opened, settings_for, settings_of, url_and_index
from dedup.files.formats import HtmlFile
from dedup.index import Index, Row
from dedup.index.sqlite_file import is_database
from dedup.model.errors import DedupError, counted, moment, printable, printable_url
from dedup.model.fingerprint import Fingerprint
from dedup.model.urls import MAX_URL, url_key
from dedup.model.verdict import Match, Outcome, Reason
from dedup.prints.fingerprinter import fingerprint
from dedup.reading.markup import EXCESSES, decode
from dedup.reading.noise import lines_of
from dedup.reading.page import Page, judged_part
from dedup.report import explanation as why
from dedup.report.diff import Compared, compared
from dedup.report.losses import Place, losses_of
from dedup.rule import match as rule
from dedup.settings import DedupSettings

NO_COPY = 3  # the exit code if OTHER is no copy, or no page is like a text
_MOST_ROWS, _MOST_NEAR = 10, 5
_COMPARED = 30  # pages kept, by their texts
_FAR = 24  # bits: what differs in more is near by chance
_LEAST = 0.1  # what shares less (0 to 1) is the nearest by chance
_MOST_OF_VIEW = 1 / 2  # of a page (0 to 1) is at most missing on that of which it is a view
_PARTS = 20  # of a text that are lost
_BESIDE = 40  # copies that tell what is a place
_LONGEST_PART = 1_000  # characters of each
_NO_TEXTS = (
    "(a text is not stored: DEDUP_STORE_PAGES = True stores all; to forget a page deletes its text)"
)
_HOW_TO_DROP = "name what differs in DEDUP_IGNORE, or skip such addresses (dedup rules)"
_TITLED = "p.listed AND p.title = ? AND p.title != ''"
_URL = re.compile(r"\w+://\S+")
# What is no text to look for, but the name of a file.
_PATH = re.compile(r"\S*/\S*|\S+\.(?:html?|txt)", re.IGNORECASE)
# What a view for print has behind the address of its page.
_VIEW = re.compile(r"\?.*|/[a-z]+/?", re.IGNORECASE)


def explain(*, what: str, other: str | None, index: str | None, settings: Given) -> None:
    other, index = url_and_index(other, index)
    if other is not None:
        _compare((what, other), index, settings)
        return
    with opened(index, settings) as there:
        read = settings_for(there.name, settings)
        again = why.Again(there, read.config)
        rows = _rows_at(there, what, is_needed=_URL.fullmatch(what) is not None)[::-1]
        # What is unchanged shares the fate of what its URL had shown.
        said = [row for row in rows if row.verdict.reason is not Reason.UNCHANGED] or rows
        own = max(said, key=lambda row: (row.outcome is not Outcome.FORGOTTEN, row.id), default=None)
        _show_rows(again, rows, own)
        if own is None or not why.repeated(own):
            page = again.print_of(own) if own else _asked(there, what, read)
            if not _show_near(again, page, own) and not own:
                sys.exit(NO_COPY)


def _named(row: Row) -> str:
    return f"{_url(row)}  (row {row.id}, run {row.sighting.run})"


def _url(row: Row) -> str:
    return printable_url(row.sighting.url, MAX_URL)


def _rows_at(index: Index, name: str, *, is_needed: bool = True) -> list[Row]:
    """Return the rows of a URL, or of a file by its path, the oldest first; none may be an error."""
    rows = index.history(name) or index.history(Path(name).absolute().as_uri())
    if is_needed and not rows:
        raise DedupError(f"{printable(name)} is not in {index.name}{_meant(index, name)}")
    return rows


def _meant(index: Index, name: str) -> str:
    """Ask for the URL that is there, if *name* lacks a scheme or an end slash; else for one like it."""
    begins, bare = [""] if _URL.fullmatch(name) else ["http://", "https://"], name.rstrip("/")
    for url in (f"{begin}{bare}{end}" for begin in begins for end in ("", "/")):
        if index.history(url):
            return f"; did you mean {printable(url)}?"
    key = url_key(name)
    folder = key[: key.rfind("/") + 1]
    there = "p.scope IN (SELECT id FROM scopes) AND p.url_key != '' AND p.url_key > ? AND p.url_key < ?"
    rows = index.store.rows(there, folder, f"{folder}\U0010ffff", limit=rule.MAX_CANDIDATES)
    ends = {seen.url_key[len(folder) :]: seen.url for seen in (row.sighting for row in rows) if folder}
    near = "".join(ends[end] for end in get_close_matches(key[len(folder) :], ends, 1))
    return f"; the nearest there is {printable_url(near, MAX_URL)}" if near else ""


# One page


def _show_rows(again: why.Again, rows: list[Row], own: Row | None) -> None:
    """Print the *own* row of a page as a whole, then a line for those of other *rows* that say alike."""

    def said(row: Row) -> str:
        state = f", {row.outcome}" * (row.outcome != "confirmed")
        told, kept = again.decided(row), why.repeated(row)
        if kept and row != own:  # its own says more of that
            told = told.replace("a page that was kept", _named(again.index.row(kept)))
        return f"{row.verdict.reason}{state}. {told}"

    if own:
        _show_row(again, own, said(own))
    alike = [(told, [*same]) for told, same in groupby((row for row in rows if row != own), said)]
    for told, (newest, *older) in alike[:_MOST_ROWS]:
        when = f"row {newest.id}, run {newest.sighting.run}, {moment(newest.sighting.time)} UTC"
        if older:
            when += f", and {counted(len(older), 'time')} before, from run {older[-1].sighting.run} on"
        click.echo(f"{when}: {told}\n")
    if left := sum(len(same) for _, same in alike[_MOST_ROWS:]):
        click.echo(f"and {left:,} more before\n")


def _show_row(again: why.Again, row: Row, said: str) -> None:
    """Print what was *said* of *row*, and how its page differs from that before or the one kept."""
    index, seen, number = again.index, row.sighting, why.repeated(row)
    run = again.runs.get(seen.run)
    click.secho(_named(row), bold=True)
    if seen.title:
        click.echo(f"  title    {printable(seen.title)}")
    by = f" by spider {printable(run.spider)!r}" if run and run.spider else ""
    click.echo(f"  seen     {moment(seen.time)} UTC{by}, as {printable(seen.kind)}\n  verdict  {said}")
    page = again.page_of(row.id, is_whole=True)
    for place in again.left_out(seen.host, lines_of(page) if page else []):
        click.echo(f"  left out {printable(place)}")
    if row.verdict.reason is Reason.UPDATED and row.verdict.previous:
        _show_change(again, "before", index.row(row.verdict.previous), row)
    if number:
        _show_copy(again, index.row(number), row)
    click.echo()


def _show_change(again: why.Again, label: str, before: Row, row: Row) -> None:
    """Print what the page of *row* says and that of the row *before* does not, and the other way."""
    click.echo(f"  {label}   {_named(before)}")
    both = again.compared(row, before), again.compared(before, row)
    _show_words(both[0], "-", "green")
    _show_words(both[1], "+", "red")
    if all(texts and texts.told == "nothing" for texts in both):
        click.echo("           They differ only in what is left out by now, or in the order of words.")


def _show_words(texts: Compared | None, sign: str = "+", colour: str = "red") -> None:
    parts = texts.lost_parts if texts else []
    for part in parts[:_PARTS]:
        click.secho(f"           {{{sign}{printable(part, _LONGEST_PART)}{sign}}}", fg=colour)
    if len(parts) > _PARTS:
        click.echo(f"           and {len(parts) - _PARTS:,} more")
    if not texts and sign == "+":
        click.echo(f"           {_NO_TEXTS}")


def _show_copy(again: why.Again, kept: Row, row: Row) -> None:
    """Print what is lost with the page of *row*, for which that of *kept* was kept, and what helps."""
    click.echo(f"  kept     {_named(kept)}")
    if fields := why.told_fields(why.differing(kept, row)):
        click.echo(f"  differs  {fields}")
    there, page = map(again.print_of, (kept, row))
    now, said = why.judged_again(there, page, again.config, row)
    found = row.verdict if row.verdict.reason is Reason.NEAR_DUPLICATE else now
    lost = why.loss(found, page.words, texts := again.compared(kept, row))
    _show_loss(lost, texts, now, said, _places(again, row) if now.lost or fields else ())
    if not row.verdict.kept and row.outcome is Outcome.CONFIRMED and lost not in {"", "nothing"}:
        alike = "mark the place (dedup report --serve)"
        alike += ", or name the field that tells items apart in DEDUP_KEY_FIELDS" * bool(fields)
        click.echo(
            f"  To keep it next time: dedup restore {quote(_url(row))}; all that differ so: {alike}."
        )


def _places(again: why.Again, row: Row) -> list[Place]:
    """Return where the copy of *row* differs from its page kept, by the copies seen around it."""
    of_run, values = "p.run = ? AND NOT p.kept", (row.sighting.run, row.id)
    beside = again.index.store.rows(of_run, *values, order="abs(p.id - ?), p.id", limit=_BESIDE)
    here = (one for one in beside if one.sighting.host == row.sighting.host)
    pairs = [(one.verdict.canonical, one.id) for one in here if one.verdict.canonical]
    found = losses_of(again, [*again.index.store.stored(pairs)], pairs)
    return [place for place in found.places if row.id in place.copies]


def _show_loss(
    lost: str, texts: Compared | None, now: Match, said: str, places: Iterable[Place] = ()
) -> None:
    """Print what is *lost*, the words where *texts* are at hand, the *places*, what the rule *said*."""
    if lost:
        click.echo(f"  loses    {lost}")
    if lost != "nothing":
        _show_words(texts)
    for place in places:
        may_be = ": it may be a record" * bool(place.records)
        click.secho(f"  place    {place.shown}{may_be}", fg="red" if may_be else None)
    is_rough = texts and texts.lost and now.lost and texts.lost != now.lost
    click.echo(f"  rule     {said}{f' {why.ESTIMATED}' * bool(is_rough)}")


# Pages kept that are near


def _asked(index: Index, what: str, settings: DedupSettings) -> Fingerprint:
    index.expect()
    if isfile(what):
        return fingerprint(_page_of_file(Path(what), settings), settings.config)
    if _PATH.fullmatch(what):
        why = f"no such file, nor a URL that the index knows{_meant(index, what)}"
        raise DedupError(f"{printable(what)}: {why}")
    click.echo(f"No URL and no file, so read as a text: {printable(what)}")
    return fingerprint(Page.from_text(what), settings.config)


def _show_near(again: why.Again, page: Fingerprint, own: Row | None) -> bool:
    """Print the pages kept before its *own* row that are like *page*; return whether there are any.

    Copies come first, then the page of which it is a view, which may be a later one, then those beside
    which it loses least.
    """
    told, found = [], _candidates(again, page, own)
    judge = again.beside(own) if own else lambda row: rule.match(again.print_of(row), page, again.config)
    near = [one for one in found if not own or one[2].id < own.id or not one[0]]
    for is_other, _, row in near[:_COMPARED]:
        how, texts = judge(row), again.compared(row, own) if own else None
        lost = texts.lost if texts and not texts.is_cut else how.lost or 0
        is_like = how.is_duplicate or how.similarity >= rule.MIN_SIMILARITY
        is_like |= not is_other and lost <= _MOST_OF_VIEW * page.words
        told.append((not is_like, not how.is_duplicate, is_other, lost, row.id, row, how, texts))
    told.sort(key=lambda one: one[:5])
    like = [one for one in told if not one[0]]
    shown = like or [one for one in told if one[6].similarity >= _LEAST][:1]
    nearest = "The nearest pages kept" if like else "; the nearest"
    click.echo("no other page kept is like it" * (not like), nl=not (like or shown))
    if shown:
        click.echo(f"{nearest}, judged again by what is known today:")
        click.secho(f"{'loses':<23}  beside", bold=True)
    for *_, row, how, texts in shown[:_MOST_NEAR]:
        click.echo(f"{why.loss(how, page.words, texts) or '-':<23}  {_named(row)}")
        click.echo(f"    {'a copy' if how.is_duplicate else 'no copy'}: {how.sentence}")
    if len(shown) > _MOST_NEAR:
        click.echo(f"and {len(shown) - _MOST_NEAR:,} more")
    if own and like:
        _show_change(again, "beside", like[0][5], own)
        if like[0][1] > like[0][2]:  # no copy, but a view
            click.echo(f"  If it is a copy all the same: {_HOW_TO_DROP}.")
    later = [row for is_other, _, row in found if own and row.id > own.id and is_other]
    alike = rule.are_alike(page, [row.sighting.fingerprint.sketch for row in later])
    if urls := [_url(row) for row, is_alike in zip(later, alike, strict=True) if is_alike]:
        more = f" and {len(urls) - 3:,} more" * (len(urls) > 3)
        click.echo(f"Met after it, so judged beside it: {', '.join(urls[:3])}{more}.")
    return bool(like)


def _candidates(
    again: why.Again, page: Fingerprint, own: Row | None
) -> list[tuple[bool, tuple[float, ...], Row]]:
    """Return pages kept near *page*, or with the title or an address like that of its *own* row.

    The nearest come first, each after its nearness, and whether its address tells that *page* is no
    view of it.
    """
    rows = again.index.near(page, max_distance=_FAR, limit=rule.MAX_CANDIDATES)
    url = own.sighting.url if own else ""
    if own:
        titled = again.index.store.rows(_TITLED, own.sighting.title, limit=rule.MAX_CANDIDATES)
        known = again.index.ledger.known(own.sighting, again.config)
        beside = (one.id for some in known.neighbours(known.pool()) for one in some.canonicals)
        rows = again.others(own, [*rows, *titled, *map(again.index.row, beside)])
    found = {row.id: row for row in rows}.values()
    views = (_VIEW.fullmatch(url.removeprefix(row.sighting.url)) for row in found)
    near = (rule.nearness(page, row.as_canonical()) for row in found)
    return sorted(zip((not view for view in views), near, found, strict=True))


# Two pages


def _compare(names: tuple[str, str], name: str | None, given: Given) -> None:
    if missing := [one for one in names if not (isfile(one) or _URL.fullmatch(one))]:
        raise DedupError(f"{printable(missing[0])}: no such file or URL")
    files, again = sum(map(isfile, names)), None
    with ExitStack() as stack:
        if name is None and files == len(names):
            settings = settings_of(dict(given))
        else:
            index = stack.enter_context(opened(name, given))
            settings = settings_for(index.name, given)
            again = why.Again(index, settings.config)
            if files:
                index.expect()
        sides = (_side(one, again, settings) for one in names)
        (name_a, print_a, a, row_a), (name_b, print_b, b, row) = sides
        texts, about = compared(a.text, b.text) if a and b else None, None
        if again and row_a and row:
            texts = again.compared(row_a, row)
            if row.verdict.kept or row.verdict.canonical in (row_a.id, row_a.origin):
                about = row
        found, reason = why.judged_again(print_a, print_b, settings.config, about)
        said = [*_crawl_said(again, row_a, row)] if again else []
    click.secho(f"A  {name_a}\nB  {name_b}", bold=True)
    click.echo("".join(said), nl=False)
    alone = "By these two alone " * bool(said)
    what = "B is a copy of A" if found.is_duplicate else "B is no copy of A"
    click.secho(f"{alone}{what}: {found.reason}", bold=True)
    told = about.verdict if about and about.verdict.reason is Reason.NEAR_DUPLICATE else found
    _show_loss(why.loss(told, print_b.words, texts), texts, found, reason)
    if not found.is_duplicate:
        sys.exit(NO_COPY)


def _crawl_said(again: why.Again, *rows: Row | None) -> Iterator[str]:
    """Yield what the crawl decided of the pages A and B, by their *rows*, None for a file."""
    named = {again.index.row(row.origin): name for row, name in zip(rows, "AB", strict=True) if row}
    for row, name in named.items():
        kept = again.index.row(why.repeated(row) or row.id)
        said = again.decided(row).replace("a page that was kept", named.get(kept) or _named(kept))
        yield f"{name}  {said}\n"


def _side(
    name: str, again: why.Again | None, settings: DedupSettings
) -> tuple[str, Fingerprint, Page | None, Row | None]:
    """Return the page in a file, or the newest of a URL in an index, by its name."""
    if again is None or isfile(name):
        page = _page_of_file(Path(name), settings)
        return printable_url(name, MAX_URL), fingerprint(page, settings.config), page, None
    rows = _rows_at(again.index, name)
    row = max(rows, key=lambda one: (one.outcome is not Outcome.FORGOTTEN, one.id))
    return _named(row), row.sighting.fingerprint, again.page_of(row.id), row


def _page_of_file(path: Path, settings: DedupSettings) -> Page:
    """Return the page in the file *path*: HTML by its name or its first character, else text."""
    try:
        if is_database(path):
            raise DedupError(f"{path} is a database; name a page first, and then the index")
        body = path.read_bytes()
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error.strerror}") from error
    is_html = path.name.lower().endswith(HtmlFile.endings) or body.lstrip()[:1] == b"<"
    page = Page.from_html(body) if is_html else Page.from_text(body.decode("utf-8", "replace"))
    if is_html:
        page = judged_part(page, settings.ignore, lambda: decode(body))
    if page.excess:
        has = EXCESSES[page.excess]
        click.echo(f"{printable(str(path))} has {has}: only its bytes are compared", err=True)
    return page
