"""``dedup explain``: what became of a page and why, against which page, and what helps."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import groupby, islice
from os.path import isfile
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import click

from dedup.cli.options import Given, opened, settings_for, settings_of, url_and_index
from dedup.files.formats import HtmlFile
from dedup.index import Index, Row
from dedup.index.sqlite_file import is_database
from dedup.model.errors import DedupError, counted, moment, printable, printable_url
from dedup.model.fingerprint import Fingerprint
from dedup.model.urls import MAX_URL
from dedup.model.verdict import Match, Outcome, Reason
from dedup.prints.fingerprinter import fingerprint
from dedup.reading.markup import EXCESSES, decode
from dedup.reading.noise import lines_of
from dedup.reading.page import Page, judged_part
from dedup.replay import differing, repeated
from dedup.report import explanation as why
from dedup.report.diff import Compared, compared
from dedup.report.losses import Place, losses_of
from dedup.rule import match as rule
from dedup.settings import DedupSettings

NO_COPY = 3  # the exit code if OTHER is no copy, or no page is like a file
_MOST_ROWS, _MOST_NEAR, _COMPARED = 10, 5, 30  # rows, pages kept, those compared by their texts
_LEAST = 0.1  # what shares less (0 to 1) is the nearest by chance
_MOST_OF_VIEW = 1 / 2  # of a page (0 to 1) is at most missing on that of which it is a view
_BESIDE = 40  # copies that tell what is a place
_PARTS, _LONGEST_PART = 20, 1_000  # of a text that are lost, characters of each
_NO_TEXTS = "(no text is stored: DEDUP_STORE_PAGES = True stores all; to forget a page deletes its text)"
_TAKE_BACK = "take the mark back (dedup report --serve)"
_NAME_IT = "name what differs in DEDUP_IGNORE, or see what dedup rules proposes"
_URL = re.compile(r"\w+://\S+")


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
        if own and repeated(own):
            _show_rows(again, rows, own, [])
            return
        page = again.print_of(own) if own else _asked(there, what, read)
        found = again.near(page, own)
        near = _near(again, page, own, found)
        _show_rows(again, rows, own, near)
        _show_near(again, page, own, near)
        if not own and not any(one.is_like for one in near):
            sys.exit(NO_COPY)


class _Near(NamedTuple):
    """A page that was kept, how the one that is asked about stands to it today, and what that loses."""

    lost: float
    row: Row
    how: Match
    texts: Compared | None
    is_view: bool
    is_like: bool


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
    """Ask for the URL that is there, if *name* lacks a scheme or an end slash."""
    begins, bare = [""] if _URL.fullmatch(name) else ["http://", "https://"], name.rstrip("/")
    for url in (f"{begin}{bare}{end}" for begin in begins for end in ("", "/")):
        if index.history(url):
            return f"; did you mean {printable(url)}?"
    return ""


# One page


def _show_rows(again: why.Again, rows: list[Row], own: Row | None, near: Sequence[_Near]) -> None:
    """Print the *own* row of a page as a whole, then a line for those of other *rows* that say alike."""

    def said(row: Row) -> str:
        state = f", {row.outcome}".replace(*why.TAKEN_BACK) * (row.outcome != "confirmed")
        told = _decided(again, row, near) if row == own else _crawl_said(again, row)
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


def _crawl_said(again: why.Again, row: Row) -> str:
    named = _named(again.index.row(number)) if (number := repeated(row)) else ""
    return again.decided(row).replace("a page that was kept", named)


def _decided(again: why.Again, row: Row, near: Sequence[_Near]) -> str:
    """Return what the crawl decided of the page of *row*, and why; the *near* ones tell more of it."""
    told = again.decided(row, at_length=True)
    if (before := again.updates(row)) and (differ := again.differing_words(before, row)):
        only = "what was not yet left out of it" if differ[1] else differ[0]
        return f"{told.removesuffix('.')}. It differed only in {only}."
    if (first := _told_by(row, near)) is None:
        return told
    if first.how.is_duplicate:
        reason = again.kept_all_the_same(row, first.row)
        return f"{reason}; today it would be a copy of {_url(first.row)}."
    order = f"its words stand on {_url(first.row)}, too, but in another order"
    return f"It was kept: {order}; {why.inside(first.how.sentence)}."


def _told_by(row: Row, near: Sequence[_Near]) -> _Near | None:
    """Return the first of those *near* if it tells why *row* was kept, where the crawl noted nothing."""
    verdict, first = row.verdict, next((one for one in near if one.row.id < row.id), None)
    if first is None or verdict.reason is not Reason.NEW or verdict.finding:
        return None
    is_moved = first.lost == 0 and first.how.finding == rule.NOT_ALIKE
    return first if is_moved or first.how.is_duplicate else None


def _show_row(again: why.Again, row: Row, said: str) -> None:
    """Print what was *said* of *row*, and how its page differs from that before or the one kept."""
    index, seen, number = again.index, row.sighting, repeated(row)
    run, page = again.runs.get(seen.run), again.page_of(row.id, is_whole=True)
    click.secho(_named(row), bold=True)
    if seen.title:
        click.echo(f"  title    {printable(seen.title)}")
    by = f" by spider {printable(run.spider)!r}" if run and run.spider else ""
    click.echo(f"  seen     {moment(seen.time)} UTC{by}, as {printable(seen.kind)}\n  verdict  {said}")
    for place in again.left_out(seen.host, lines_of(page) if page else []):
        click.echo(f"  left out {printable(place)}")
    if before := again.updates(row):
        _show_change(again, "before", before, row)
    if number:
        _show_copy(again, index.row(number), row)
    click.echo()


def _show_change(again: why.Again, label: str, before: Row, row: Row) -> None:
    """Print what the page of *row* says and that of the row *before* does not, and the other way."""
    click.echo(f"  {label}   {_named(before)}")
    both = again.compared(row, before), again.compared(before, row)
    _show_words(both[0], "-")
    _show_words(both[1])
    if differ := again.differing_words(before, row):
        words = ": " * bool(differ[1]) + ", ".join(differ[1])
        click.echo(f"           They differ only in {differ[0]}{words}.")


def _show_words(texts: Compared | None, sign: str = "+", *, both: bool = False) -> None:
    parts = [*zip(texts.lost_parts, texts.lost_for, strict=True)] if texts else []
    for part, other in parts[:_PARTS]:
        instead = f"{{-{printable(other, _LONGEST_PART)}-}} " * bool(both and other)
        said = f"{instead}{{{sign}{printable(part, _LONGEST_PART)}{sign}}}"
        click.secho(f"           {said}", fg="green" if sign == "-" else "red")
    if len(parts) > _PARTS:
        click.echo(f"           and {len(parts) - _PARTS:,} more")
    if not texts and sign == "+":
        click.echo(f"           {_NO_TEXTS}")


def _show_copy(again: why.Again, kept: Row, row: Row) -> None:
    """Print what is lost with the page of *row*, for which that of *kept* was kept, and what helps."""
    click.echo(f"  kept     {_named(kept)}")
    if fields := why.told_fields(differing(kept, row)):
        click.echo(f"  differs  {fields}")
    lost = why.loss(row.verdict, row.sighting.fingerprint.words, texts := again.compared(kept, row))
    places = _places(again, row) if row.verdict.lost or fields else ()
    _show_loss(lost, texts, row.verdict.lost, again.told_rule(row, kept), places)
    if not row.verdict.kept and row.outcome is Outcome.CONFIRMED and lost not in {"", "nothing"}:
        alike = "mark the place (dedup report --serve)"
        alike += ", or name the field that tells items apart in DEDUP_KEY_FIELDS" * bool(fields)
        once = f"  To keep it next time: dedup restore {quote(_url(row))}"
        click.echo(f"{once}; all that differ so: {alike}.")


def _places(again: why.Again, row: Row) -> list[Place]:
    """Return where the copy of *row* differs from its page kept, by the copies seen around it."""
    of_run, values = "p.run = ? AND NOT p.kept", (row.sighting.run, row.id)
    beside = again.index.store.rows(of_run, *values, order="abs(p.id - ?), p.id", limit=_BESIDE)
    here = (one for one in beside if one.sighting.host == row.sighting.host)
    pairs = [(one.verdict.canonical, one.id) for one in here if one.verdict.canonical]
    found = losses_of(again, [*again.index.store.stored(pairs)], pairs)
    return [place for place in found.places if row.id in place.copies]


def _show_loss(
    lost: str, texts: Compared | None, about: int | None, said: str, places: Iterable[Place] = ()
) -> None:
    """Print what is *lost*, the words where *texts* are at hand, the *places*, what the rule *said*.

    It says *about* how many are.
    """
    if lost:
        click.echo(f"  loses    {lost}")
    if lost != "nothing":
        _show_words(texts, both=True)
    for place in places:
        may_be = ": it may be a record" * bool(place.records)
        click.secho(f"  place    {place.shown}{may_be}", fg="red" if may_be else None)
    is_rough = texts and about and texts.lost != about and "would be lost" in said
    click.echo(f"  rule     {said}{f' {why.ESTIMATED}' * bool(is_rough)}")


# Pages kept that are near


def _asked(index: Index, what: str, settings: DedupSettings) -> Fingerprint:
    index.expect()
    if isfile(what):
        return fingerprint(_page_of_file(Path(what), settings), settings.config)
    why = f"no such file, nor a URL that the index knows{_meant(index, what)}"
    raise DedupError(f"{printable(what)}: {why}")


def _near(
    again: why.Again, page: Fingerprint, own: Row | None, among: Sequence[tuple[bool, Row]]
) -> list[_Near]:
    """Return those *among* some kept before its *own* row as *page* stands to them, the nearest first.

    And that of which it is a view, which may be a later one.
    """
    found = list[_Near]()
    judge = again.beside(own) if own else lambda row: rule.match(again.print_of(row), page, again.config)
    known = ((is_other, row) for is_other, row in among if not own or row.id < own.id or not is_other)
    for is_other, row in islice(known, _COMPARED):
        how, texts = judge(row), again.compared(row, own) if own else None
        lost = texts.lost if texts and not texts.is_cut else how.lost or 0
        is_like = how.is_duplicate or how.similarity >= rule.MIN_SIMILARITY or lost == 0
        is_like |= not is_other and lost <= _MOST_OF_VIEW * page.words
        found.append(_Near(lost, row, how, texts, not is_other, is_like))
    return sorted(found, key=lambda one: (one.lost, not one.how.is_duplicate, one.row.id))


def _show_near(again: why.Again, page: Fingerprint, own: Row | None, near: Sequence[_Near]) -> None:
    """Print those *near* that are like *page*, of its *own* row, and any with which it loses less."""
    most = max((at for at, one in enumerate(near, 1) if one.is_like), default=0)
    shown = near[:most] or [one for one in near if one.how.similarity >= _LEAST][:1]
    nearest = "The nearest pages kept" if most else "; the nearest"
    click.echo("no other page kept is like it" * (not most), nl=not (most or shown))
    if shown:
        click.echo(f"{nearest}, judged again by what is known today:")
        click.secho(f"{'loses':<23}  beside", bold=True)
    for one in shown[:_MOST_NEAR]:
        click.echo(f"{why.loss(one.how, page.words, one.texts) or '-':<23}  {_named(one.row)}")
        said = f"{'a copy' if one.how.is_duplicate else 'no copy'}: {one.how.sentence}"
        if own and one.how.is_duplicate and one.row.id < own.id and one != _told_by(own, near):
            said += f" {again.kept_all_the_same(own, one.row)}."
        elif own and one.row.id == own.verdict.nearest and not again.updates(own):
            said = "no copy, as is said above"
        elif own and one.how.finding == "other_place":
            said = f"{said.removesuffix('.')}{again.marked_values(own, one.row)}."
        click.echo(f"    {said}")
    if len(shown) > _MOST_NEAR:
        click.echo(f"and {len(shown) - _MOST_NEAR:,} more")
    if own and most:
        _show_change(again, "beside", near[0].row, own)
        if near[0].is_view and not near[0].how.is_duplicate:
            is_marked = near[0].how.finding == "other_place"
            click.echo(f"  If it is a copy all the same: {_TAKE_BACK if is_marked else _NAME_IT}.")


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
        sides = [(of, *_side(one, again, settings)) for of, one in zip("AB", names, strict=True)]
        for of, shown, *_ in sides:
            click.secho(f"{of}  {shown}", bold=True)
        rows = {row: of for of, *_, row in sides if row}
        if len(rows) == len(names):  # in the order in which they were kept or dropped
            sides.sort(key=lambda side: side[-1].id if side[-1] else 0)
        (first, _, kept, a, one), (last, _, page, b, other) = sides
        found = rule.match(kept, page, settings.config)
        texts = compared(a.text, b.text) if a and b else None
        if again and one and other and one != other:
            found, texts = again.between(one, other), again.compared(one, other)
            for row, letter in rows.items():
                click.echo(f"{letter}  {_crawl_said(again, row)}")
        how = f"{'a' if found.is_duplicate else 'no'} copy of {first}: {found.reason}"
        click.secho(f"{last} is {how}", bold=True)
        _show_loss(why.loss(found, page.words, texts), texts, found.lost, found.sentence)
    if not found.is_duplicate:
        sys.exit(NO_COPY)


def _side(
    name: str, again: why.Again | None, settings: DedupSettings
) -> tuple[str, Fingerprint, Page | None, Row | None]:
    """Return the page in a file, or the newest of a URL in an index, by its name."""
    if again is None or isfile(name):
        page = _page_of_file(Path(name), settings)
        return printable_url(name, MAX_URL), fingerprint(page, settings.config), page, None
    rows = _rows_at(again.index, name)
    newest = max(rows, key=lambda one: (one.outcome is not Outcome.FORGOTTEN, one.id))
    row = again.index.row(newest.origin)
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
