"""``dedup explain``: what became of a page and why."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from difflib import get_close_matches
from itertools import islice
from math import inf
from os.path import isfile
from pathlib import Path
from shlex import quote

import click

from dedup.cli.options import Given, opened, settings_for, settings_of, url_and_index
from dedup.files.formats import HtmlFile
from dedup.index import Index, Row
from dedup.index.rows import numbers
from dedup.index.sqlite_file import is_database
from dedup.model.errors import DedupError, moment, printable, printable_url
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

NO_COPY = 3  # the exit code if OTHER is no copy
_MOST_ROWS = 10
_LEAST = 0.1  # what shares less (0 to 1) is the nearest by chance
_PARTS = 20  # of a text that are lost
_BESIDE = 40  # copies that tell what is a place
_LONGEST_PART = 1_000  # characters of each
_HOW_TO_KEEP = "To keep it next time: dedup restore {}; others that differ so: dedup report --serve"
_BY_KEY = ", or name the field that tells items apart in DEDUP_KEY_FIELDS"
_NO_TEXTS = (
    "Words are shown for pages whose texts the index keeps: of some, or all (crawl with "
    "DEDUP_STORE_PAGES = True); to forget a page deletes its text."
)
_URL = re.compile(r"\w+://\S+")
# What is no text to look for, but the name of a file.
_PATH = re.compile(r"\S*/\S*|\S+\.(?:html?|txt)", re.IGNORECASE)


def explain(*, what: str, other: str | None, index: str | None, settings: Given) -> None:
    other, index = url_and_index(other, index)
    if other is not None:
        _compare((what, other), index, settings)
        return
    with opened(index, settings) as there:
        read = settings_for(there.name, settings)
        again = why.Again(there, read.config)
        rows = _rows_at(there, what, is_needed=_URL.fullmatch(what) is not None)[::-1]
        _show_rows(again, rows)
        # What is unchanged shares the fate of what its URL had shown.
        said = (row for row in rows if row.verdict.reason is not Reason.UNCHANGED)
        if not any(map(why.repeated, islice(said, 1))):
            newest = _newest(rows) if rows else None
            page = again.print_of(newest) if newest else _asked(there, what, read)
            _show_near(again, page, newest)


def _named(row: Row) -> str:
    return f"{printable_url(row.sighting.url, MAX_URL)}  (row {row.id}, run {row.sighting.run})"


def _rows_at(index: Index, name: str, *, is_needed: bool = True) -> list[Row]:
    """Return the rows of a URL, or of a file by its path as for `dedup add`, the oldest first.

    Raises `DedupError` if there is none and one *is_needed*.
    """
    rows = index.history(name) or index.history(Path(name).absolute().as_uri())
    if is_needed and not rows:
        raise DedupError(f"{printable(name)} is not in {index.name}{_meant(index, name)}")
    return rows


def _meant(index: Index, name: str) -> str:
    """Return a question for the URL that is there, if *name* lacks its scheme, or a slash at its end.

    Else the one in its folder that is most like it.
    """
    begins, bare = [""] if _URL.fullmatch(name) else ["http://", "https://"], name.rstrip("/")
    for url in (f"{begin}{bare}{end}" for begin in begins for end in ("", "/")):
        if index.history(url):
            return f"; did you mean {printable(url)}?"
    key = url_key(name)
    folder = key[: key.rfind("/") + 1]
    there = "p.scope IN (SELECT id FROM scopes) AND p.url_key != '' AND p.url_key > ? AND p.url_key < ?"
    rows = index.store.rows(there, folder, f"{folder}\U0010ffff", limit=rule.MAX_CANDIDATES)
    found = [row.sighting.url for row in rows] if folder else []
    ends = {url_key(url)[len(folder) :]: url for url in found}
    near = "".join(ends[end] for end in get_close_matches(key[len(folder) :], ends, 1))
    return f"; the nearest there is {printable_url(near, MAX_URL)}" if near else ""


def _newest(rows: list[Row]) -> Row:
    return max(rows, key=lambda row: (row.outcome is not Outcome.FORGOTTEN, row.id))


def _show_rows(again: why.Again, rows: list[Row]) -> None:
    """Print the last verdict on a page, and the last one beside another page, and the others in a line.

    *rows* are those of the page, the newest first.
    """
    shown = rows[:_MOST_ROWS]
    last = next((row for row in shown if why.repeated(row) or row.verdict.nearest), None)
    for row in shown:
        if row in (shown[0], last):
            _show_row(again, row, is_whole=row is last)
            continue
        when = f"row {row.id}, run {row.sighting.run}, {moment(row.sighting.time)} UTC"
        click.echo(f"{when}: {row.verdict.reason}. {again.decided(row)[0]}\n")
    if len(rows) > len(shown):
        click.echo(f"and {len(rows) - len(shown):,} more before\n")


def _show_row(again: why.Again, row: Row, *, is_whole: bool) -> None:
    index, seen, number = again.index, row.sighting, why.repeated(row)
    kept = None if number is None else index.row(number)
    (said, nearest), run = again.decided(row), again.runs.get(seen.run)
    click.secho(_named(row), bold=True)
    if seen.title:
        click.echo(f"  title    {printable(seen.title)}")
    by = f" by spider {printable(run.spider)!r}" if run and run.spider else ""
    click.echo(f"  seen     {moment(seen.time)} UTC{by}, as {printable(seen.kind)}")
    state = "" if row.outcome == "confirmed" else f", {row.outcome}"
    click.echo(f"  verdict  {row.verdict.reason}{state}. {said}")
    if not kept and (copied := again.copied(row)):
        url = printable_url(copied.url, MAX_URL)
        click.echo(f"  by now   a copy of {url}: judged again {why.BY_NOW}")
    page = again.page_of(row.id, is_whole=True)
    for place in why.left_out(index, lines_of(page) if page else []).get(seen.host, ()):
        click.echo(f"  left out {printable(place)}")
    if row.verdict.reason is Reason.UPDATED and row.verdict.previous:
        _show_change(again, index.row(row.verdict.previous), row)
    if other := kept or nearest:
        _show_beside(again, other, row, is_kept=kept is not None, is_whole=is_whole)
    click.echo()


def _show_change(again: why.Again, before: Row, row: Row) -> None:
    """Print what the page of *row* says and that of the row *before* does not, and the other way."""
    click.echo(f"  before   {_named(before)}")
    both = [again.compared(*pair) for pair in ((row, before), (before, row))]
    for texts, sign, colour in zip(both, "-+", ("green", "red"), strict=True):
        for part in texts.lost_parts[:_PARTS] if texts else ():
            click.secho(f"           {{{sign}{printable(part, _LONGEST_PART)}{sign}}}", fg=colour)
    if all(texts and texts.told == "nothing" for texts in both):
        click.echo("           They differ only in what is left out by now, or in the order of words.")


def _show_beside(again: why.Again, other: Row, row: Row, *, is_kept: bool, is_whole: bool) -> None:
    """Print the *other* page, which was kept for that of *row* if *is_kept*, and how the two differ."""
    fields = why.told_fields(why.differing(other, row)) if is_kept else ""
    if other.id != row.id:
        click.echo(f"  {'kept   ' if is_kept else 'nearest'}  {_named(other)}")
    if fields:
        click.echo(f"  differs  {fields}")
    if not is_whole:
        return
    kept, page = map(again.print_of, (other, row))
    now, reasons = why.judged_again(kept, page, again.config, row)
    texts = again.compared(other, row)
    found = row.verdict if row.verdict.reason is Reason.NEAR_DUPLICATE else now
    lost = why.loss(found, page.words, texts)
    both = f" (estimated {now.lost or 0:,})" * bool(texts and 0 < texts.lost != now.lost and now.lost)
    places = _places(again, row) if is_kept and (now.lost or fields) else ()
    _show_loss(lost + both, texts, reasons if is_kept else (), places)
    if is_kept and (holder := again.holder(row)):
        click.echo(f"  Of the other pages kept {holder}.")
    is_dropped = not row.verdict.kept and row.outcome is not Outcome.RESTORED
    if is_kept and is_dropped and lost not in {"", "nothing"}:
        url = quote(printable_url(row.sighting.url, MAX_URL))
        click.echo(f"  {_HOW_TO_KEEP.format(url)}{_BY_KEY * bool(fields)}.")


def _places(again: why.Again, row: Row) -> list[Place]:
    """Return where the copy of *row* differs from its page kept, by the copies seen around it."""
    of_run, values = "p.run = ? AND NOT p.kept", (row.sighting.run, row.id)
    beside = again.index.store.rows(of_run, *values, order="abs(p.id - ?), p.id", limit=_BESIDE)
    here = (one for one in beside if one.sighting.host == row.sighting.host)
    pairs = [(one.verdict.canonical, one.id) for one in here if one.verdict.canonical]
    found = losses_of(again, [*again.index.store.stored(pairs)], pairs)
    return [place for place in found.places if row.id in place.copies]


def _show_loss(
    lost: str, texts: Compared | None, reasons: Iterable[str], places: Iterable[Place] = ()
) -> None:
    """Print what is *lost*, the words where *texts* are at hand, the *places*, what the rule says."""
    parts = texts.lost_parts if texts else []
    if lost:
        click.echo(f"  loses    {lost}")
    for part in parts[:_PARTS]:
        click.secho(f"           {{+{printable(part, _LONGEST_PART)}+}}", fg="red")
    if len(parts) > _PARTS:
        click.echo(f"           and {len(parts) - _PARTS:,} more")
    for place in places:
        what = ": it may be a record" * bool(place.records) + place.advice
        told = place.means if place.says else what
        click.secho(f"  place    {place.shown}{told}", fg="red" if place.records else None)
    note = [why.ESTIMATED] * ("estimated" in lost) if texts else [_NO_TEXTS] * (lost != "nothing")
    for line in (*note, *reasons):
        click.echo(f"  {line}")


def _asked(index: Index, what: str, settings: DedupSettings) -> Fingerprint:
    index.expect()
    if isfile(what):
        return fingerprint(_page_of_file(Path(what), settings), settings.config)
    if _PATH.fullmatch(what):
        why = f"no such file, nor a URL that the index knows{_meant(index, what)}"
        raise DedupError(f"{printable(what)}: {why}")
    click.echo(f"Read as a text: {printable(what)}")
    return fingerprint(Page.from_text(what), settings.config)


def _show_near(again: why.Again, page: Fingerprint, own: Row | None) -> None:
    """Print the pages kept that are like *page*, the nearest first, without those of its *own* URL."""
    last, config, found = own.id if own else inf, again.config, again.near(page, own)

    def alone(row: Row) -> Match:
        return rule.match(again.print_of(row), page, config)

    near = _alike(again.index, page, own, found)
    near.sort(key=lambda row: (row.id > last, rule.nearness(page, row.as_canonical())))
    judge = again.beside(own) if own else alone
    if not near:
        click.echo("no other page kept is like it")
        others = sorted((alone(row).similarity, -row.id, row) for row in found if row.id <= last)
        near = [row for likeness, _, row in others[-1:] if likeness >= _LEAST]
    if not near:
        return
    click.echo(f"Pages kept that are like it, have its title, or are nearest, judged again {why.BY_NOW}")
    click.echo("(content, structure: of 64 bits so many differ; in brackets what the rule estimates):")
    click.secho(f"content structure  {'loses':<23}  {'verdict':<23}  page", bold=True)
    for row in near[:_MOST_ROWS]:
        how = judge(row)
        texts = again.compared(row, own) if own else None
        lost = why.loss(how, page.words, texts) or "-"
        lost += f" ({how.lost or 0:,})" * bool(texts and texts.lost and how.lost)
        most = again.most(own, how.finding)[0] if own else int(rule.allowed_words(page, config))
        what = "met after it" if row.id > last else why.briefly(how, most, config)
        if how.finding == rule.NOT_ALIKE and texts and texts.told == "nothing":
            what = "in another order"
        bits = ["-" if one is None else one for one in (how.content_distance, how.structure_distance)]
        click.echo("{:>7} {:>9}  {:<23}  {:<23}  {}".format(*bits, lost, what, _named(row)))
    if len(near) > _MOST_ROWS:
        click.echo(f"and {len(near) - _MOST_ROWS:,} more")


def _alike(index: Index, page: Fingerprint, own: Row | None, near: list[Row]) -> list[Row]:
    """Return those of *near* that are like *page*, and all that have the title of its *own* row."""
    prints = [row.sighting.fingerprint for row in near]
    alike = rule.are_alike(page, [one.sketch for one in prints])
    equal = [one.body_digest == page.body_digest for one in prints]
    found = [row for row, *one in zip(near, alike, equal, strict=True) if any(one)]
    if own and (seen := own.sighting).title:
        known = numbers(row.id for row in found)
        same = f"p.listed AND p.title = ? AND p.url_key != ? AND p.id NOT IN {known}"
        rows = index.store.rows(same, seen.title, seen.url_key, limit=rule.MAX_CANDIDATES)
        found += [row for row in rows if row.sighting.group == seen.group]
    return found


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
        if again and row_a and row:
            texts = again.compared(row_a, row)
        else:
            texts = compared(a.text, b.text) if a and b else None
        said = [*_crawl_said(again, row, row_a)] if again and row else []
    repeats, is_kept = row and row_a and row.verdict.canonical == row_a.id, row and row.verdict.kept
    about = row if repeats or is_kept else None
    found, reasons = why.judged_again(print_a, print_b, settings.config, about)
    click.secho(f"A  {name_a}\nB  {name_b}", bold=True)
    for line in said:
        click.echo(line)
    alone = "By these two alone " * bool(said)
    what = "B is a copy of A" if found.is_duplicate else "B is no copy of A"
    click.secho(f"{alone}{what}: {found.reason}", bold=True)
    told = about.verdict if about and about.verdict.reason is Reason.NEAR_DUPLICATE else found
    _show_loss(why.loss(told, print_b.words, texts), texts, reasons)
    if not found.is_duplicate:
        sys.exit(NO_COPY)


def _crawl_said(again: why.Again, row: Row, other: Row | None) -> Iterator[str]:
    """Yield what the crawl decided of *row*, B, and how it came to the *other* page, A, if it did."""
    said = again.decided(row)[0]
    yield re.sub(r"^It was (kept|dropped|marked|let through)", r"The crawl \1 B", said)
    number = why.repeated(row)
    if other is None or number == other.id:
        return
    if number is not None:
        yield f"That page is {_named(again.index.row(number))}."
    elif other.id > row.id:
        urls = (quote(printable_url(one.sighting.url, MAX_URL)) for one in (row, other))
        yield f"It met A after B, and asked whether A repeats B: {' '.join(('dedup explain', *urls))}"
    elif row.verdict.nearest != other.id:
        now = again.beside(row)(other)
        told = "would be a copy of A by what is known now" if now.is_duplicate else "is no copy of A"
        yield f"By what it knew of their site B {told}: {now.sentence}"


def _side(
    name: str, again: why.Again | None, settings: DedupSettings
) -> tuple[str, Fingerprint, Page | None, Row | None]:
    """Return the page in a file, or the newest of a URL in an index, by its name."""
    if again is None or isfile(name):
        page = _page_of_file(Path(name), settings)
        return printable_url(name, MAX_URL), fingerprint(page, settings.config), page, None
    row = _newest(_rows_at(again.index, name))
    return _named(row), row.sighting.fingerprint, again.page_of(row.id), row


def _page_of_file(path: Path, settings: DedupSettings) -> Page:
    """Return the page in the file *path*: HTML by its name or its first character, else text.

    Of HTML what ``DEDUP_IGNORE`` selects is left out, as a crawl does.  A warning goes to the standard
    error if it is over a limit.
    """
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
