"""What a store does for the rules above it: it holds rows, records and lists, and knows no rule.

A new one implements `Store`; `tests/dedup/index/test_stores.py` says whether it does so correctly.
How rows of the tables become values, checked, and how values become rows, stands here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from dedup.index.files import Damaged
from dedup.index.schema import DIGEST, NUMBER, PAGES, SCOPES, TEXT, Column
from dedup.recipes.config import DedupConfig
from dedup.rule.site import told_by, told_by_copy
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import Glance, KeptText, NoSuchRow, Row, Run, Statistics, Visit, Withheld
from dedup.values.sighting import Sighting
from dedup.values.urls import host_of
from dedup.values.verdict import UNDONE, Candidates, Canonical, Outcome, Reason, Standing, Verdict

Group = tuple[str, str]
"""A kind and a scope: pages are compared within one group only."""

Token = Hashable
"""The state of a group, or of more than that; equal only if nothing in it was listed or taken out."""


class Order(StrEnum):
    """Which rows come first."""

    OLDEST = "the oldest row"
    NEWEST = "the newest row"
    LAST_RUN = "the last run, of equal ones the newest row"


class Query(NamedTuple):
    """Conditions on rows, which must all hold; None is no condition.

    *after* is the number of a row.  *runs* and *not_runs* are the runs that rows may, or may not, be of.
    With *dry_runs* rows of dry runs count only if they are of one of these.  *cluster* is the canonical
    in whose place a row was kept.  *replaces*, *represents* and *elsewhere* say whether a row replaces
    another one, was kept in the place of one, and leans on a page of a host that its crawl had not
    visited; *met_again* takes `Row.is_met_again` only.  *unseen_since* takes rows from before a moment
    that no row since then repeats; forgotten ones do not count.
    """

    ids: Sequence[int] | None = None
    after: int | None = None
    group: Group | None = None
    url_key: str | None = None
    item_key: str | None = None
    body_digest: bytes | None = None
    token_digest: bytes | None = None
    canonical: int | None = None
    previous: int | None = None
    cluster: int | None = None
    before_run: int | None = None
    unseen_since: float | None = None
    limit: int | None = None
    # Those that change seldom: a store may keep a statement for each of their values.
    runs: frozenset[int] | None = None
    not_runs: frozenset[int] | None = None
    dry_runs: frozenset[int] | None = None
    outcomes: tuple[Outcome, ...] | None = None
    kept: bool | None = None
    listed: bool | None = None
    replaces: bool | None = None
    represents: bool | None = None
    elsewhere: bool | None = None
    met_again: bool | None = None
    order: Order = Order.OLDEST


NOT_UNDONE = tuple(outcome for outcome in Outcome if outcome not in UNDONE)
"""The outcomes of rows that were not taken back."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The canonicals that a page is compared with: the listed rows of a group except some.

    *without* are rows that are left out, *dry_runs* the only dry runs whose rows count.
    """

    group: Group
    without: frozenset[int] = frozenset()
    dry_runs: frozenset[int] = frozenset()

    def has(self, row: Row) -> bool:
        """Return whether *row* is in the pool."""
        seen = row.sighting
        return (
            row.listed
            and (seen.kind, seen.scope) == self.group
            and row.id not in self.without
            and (not seen.is_dry or seen.run in self.dry_runs)
        )


class Note(NamedTuple):
    """A text that is kept under a name."""

    name: str
    value: str


class StoredPage(NamedTuple):
    """The page that a row was judged by, as `dedup.reading.stored.pack` gives it."""

    row: int
    page: bytes


class Prefix(str):
    """A condition of `Store.select`: what begins with this (ASCII)."""

    __slots__ = ()


Record = Run | Visit | Withheld | Note | StoredPage
"""What a store holds beside its rows."""

AnyRecord = TypeVar("AnyRecord", Run, Visit, Withheld, Note, StoredPage)


class Store(Protocol):
    """Rows and records, kept somewhere.

    Row numbers rise with time, with gaps or without; only `Row.outcome`, `Row.listed` and the
    fingerprint ever change.  What is done in one `transaction` is done as a whole or not at all.
    """

    @property
    def name(self) -> str:
        """Where it is, for messages."""

    # What every rule is made of

    def transaction(self, *, writing: bool, beside: bool = False) -> AbstractContextManager[None]:
        """See one state, or change it as a whole; inside another one, be part of it.

        What changes nothing that others lean on may be done *beside* them.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """See one state; a store that `is_shared` may show later ones, which `claim` then notices."""
        return self.transaction(writing=False)

    def add(self, row: Row, page: bytes = b"") -> Row:
        """Add *row*, and its *page* unless that is b""; return it with its number, the highest yet."""

    def change(self, which: Query, *, outcome: Outcome | None = None, listed: bool | None = None) -> int:
        """Give the rows *which* an outcome, or put them into or out of the lists; return how many."""

    def reprint(self, row: int, fingerprint: Fingerprint) -> None:
        """Give *row*, which is in no list, another *fingerprint*, of the same bytes."""

    def rows(self, query: Query) -> Iterator[Row]:
        """Yield the rows of *query*.

        Without a limit, and oldest first, they are read in batches, each as it is by then.
        """

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        """Yield what in *pool* may repeat *page*, by `nearness`, found only when asked for."""

    def token(self, group: Group) -> Token:
        """Return the state of *group*: it tells whoever searched without a lock if that still holds."""

    @property
    def is_shared(self) -> bool:
        """Whether others may add while this one searches, so that a verdict has to be claimed."""
        return False

    def claim(self, row: Row, token: Token, page: bytes = b"") -> Row | None:
        """Add *row* as `add` does, in a transaction; None if its verdict may be out of date.

        It is up to date if the group is as *token* says, or if nothing was added that it may be
        compared with.  Raises `RunEnded` if others have ended its run.
        """
        with self.transaction(writing=True):
            if self.token((row.sighting.kind, row.sighting.scope)) != token:
                return None
            return self.add(row, page)

    def together(self) -> AbstractContextManager[None]:
        """Wait for the disk once, at the end, for all that is claimed inside."""
        return nullcontext()

    @property
    def undone(self) -> int:
        """How many transactions were undone: what was read in them must not be remembered."""

    def state(self) -> Hashable:
        """Return a value that changes when others have changed anything, or a transaction was undone.

        With it rules can remember what they would otherwise ask for with every page.
        """

    def announce(self) -> None:
        """Let `state` change for others: something that rules remember has changed."""
        return

    # The few things beside rows, whose tables are alike

    def put(self, *records: Record, renew: bool = True) -> None:
        """Store records; one with the key of a stored one takes its place only if they *renew*."""

    def select(
        self, kind: type[AnyRecord], *, limit: int | None = None, **fields: Any
    ) -> list[AnyRecord]:
        """Return the records of a kind with these *fields*, in their order, at most *limit*.

        A field is a value, a collection of possible ones or a `Prefix`.
        """

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        """Remove the records that `select` would return."""

    def add_run(self, run: Run) -> Run:
        """Store a new run; return it with the number that the store gives it, the highest so far."""

    # Whether the process of a run still lives, which only a store that others reach can tell

    def lease(self, run: int) -> None:
        """Hold *run* as long as this process lives, or until `release`, or the transaction is undone."""

    def release(self, run: int) -> None:
        """Hold *run* no longer, if it was held."""

    def is_leased(self, run: int) -> bool:
        """Return whether a living process holds *run*."""

    # What would otherwise mean reading a million rows

    def last(self) -> int:
        """Return the highest number of a row, 0 if there is none."""

    def glances(self, after: int, outcome: Outcome | None) -> Iterator[Glance]:
        """Yield glances of rows above number *after*, all or of an outcome; in batches like `rows`."""

    def kept_texts(self, after: int, rows: Collection[int] | None = None) -> Iterator[KeptText]:
        """Yield the `KeptText` of the pages that have a text and were kept, or lost words, in order.

        Of the rows with numbers above *after*, or of those with the numbers *rows*, of which those that
        are still pending may be left out.
        """

    def statistics(self) -> Statistics:
        """Return how much there is."""

    def clusters(
        self, *, run: int | None, forgotten: bool, min_copies: int, limit: int
    ) -> list[tuple[int, int, float]]:
        """Return canonicals, their number of copies and the least similarity of one, largest first.

        Counts the rows that were not kept, of all runs or of one, *forgotten* ones too or not; of
        equally large clusters the oldest is first.
        """

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[tuple[int, int]]:
        """Return distances and numbers of listed rows within *max_distance* of a *simhash* other than 0.

        By the simhash *field*, "content" or "structure", the nearest first, then the oldest; exact.
        """

    def urls_around(self, url_key: str) -> list[str]:
        """Return keys of URLs that are next to *url_key* in alphabetical order, or all."""

    # Upkeep

    def problems(self) -> list[str]:
        """Return what is wrong with what is stored, a line for each; nothing is repaired."""

    def close(self) -> None:
        """Close the store."""

    # What only some have

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than that for others, from now on."""

    @property
    def is_in_place(self) -> bool:
        """Whether what was opened is still what its name leads to."""
        return True


def the_row(store: Store, number: int) -> Row:
    """Return the row of that number; raises `NoSuchRow`."""
    for row in store.rows(Query(ids=(number,), limit=1)):
        return row
    raise NoSuchRow(f"there is no row {number} in {store.name}")


def act_if(store: Store, is_due: Callable[[], object], act: Callable[[], object]) -> None:
    """Do *act* where *is_due* says so, both in one transaction: what others did meanwhile counts.

    It is asked before as well, so that nobody waits for a transaction where there is nothing to do.
    """
    if is_due():
        with store.transaction(writing=True):
            if is_due():
                act()


def first(rows: Iterable[Row]) -> Row | None:
    """Return the first of *rows*, None if there is none."""
    return next(iter(rows), None)


_SHOWN = 40

Picker = Callable[[Sequence[Any]], tuple[Any, ...]]


class Reader:
    """Turns what a SELECT of *columns* gives, in their order, into values of ours.

    *noun* says in errors what they are columns of; "{}" in it stands for the first value.  Made once for
    each SELECT: indexes read millions of rows.
    """

    def __init__(self, noun: str, columns: Iterable[Column]) -> None:
        self.columns = tuple(columns)
        self._noun = noun
        # The types of looked-up columns at the end are not checked: that takes as long as the look-up.
        self._types: tuple[Any, ...] = tuple(column.types for column in _but_looked_up(self.columns))
        readers = enumerate(column.reader for column in self.columns)
        self._readers = [(place, reader) for place, reader in readers if reader]

    def values(self, stored: Sequence[Any]) -> list[Any]:
        """Return the values; raises `Damaged` where one is invalid."""
        values = list(stored)
        if not all(map(isinstance, values, self._types)):
            raise Damaged(self._fault(stored))
        try:
            for place, read in self._readers:
                values[place] = read(values[place])
        except (KeyError, ValueError) as error:
            raise Damaged(self._fault(stored)) from error
        return values

    def picker(self, cls: type, path: str = "") -> Picker:
        """Return what picks, of the values, the fields of *cls*, in their order.

        *path* leads to the object of *cls* and ends with a dot.
        """
        places = {column.field: place for place, column in enumerate(self.columns)}
        paths = (path + field.name for field in fields(cls))
        return itemgetter(*(places[path] for path in paths if path in places))

    @property
    def sql(self) -> str:
        """The columns as SELECT names them."""
        return ", ".join(column.name for column in self.columns)

    def _fault(self, stored: Sequence[Any]) -> str:
        noun = self._noun.format(stored[0])
        for value, column in zip(stored, self.columns, strict=True):
            if not column.is_valid(value):
                shown = f"{len(value)} bytes" if isinstance(value, bytes) else f"{value!r:.{_SHOWN}}"
                return f"{noun} has an invalid {column.name}: {shown}"
        return noun


def _but_looked_up(columns: Sequence[Column]) -> Sequence[Column]:
    while columns and columns[-1].kind.values:
        columns = columns[:-1]
    return columns


# A row with its group, and with the URL and the run of its canonical.
_JOINED = (
    *((f"p.{column.name}", column) for column in PAGES.fields),
    *((f"s.{column.name}", column) for column in SCOPES.fields),
    ("p.id", Column("id", NUMBER, "verdict.row")),
    ("coalesce(c.url, '')", Column("canonical's url", TEXT, "verdict.canonical_url")),
    ("c.run", Column("canonical's run", NUMBER, "verdict.canonical_run", optional=True)),
)
SELECT = (
    f"SELECT {', '.join(sql for sql, _ in _JOINED)} "
    "FROM pages p JOIN scopes s ON s.id = p.scope LEFT JOIN pages c ON c.id = p.canonical "
)
_ROW = Reader("row {}", (column for _, column in _JOINED))
_row_of, _sighting_of = _ROW.picker(Row), _ROW.picker(Sighting, "sighting.")
_page_of, _verdict_of = (
    _ROW.picker(Fingerprint, "sighting.fingerprint."),
    _ROW.picker(Verdict, "verdict."),
)


def row_of(stored: Sequence[Any]) -> Row:
    """Return the row behind what `SELECT` gave; raises `Damaged`."""
    values = _ROW.values(stored)
    row, outcome, listed = _row_of(values)
    sighting = Sighting(Fingerprint(*_page_of(values)), *_sighting_of(values))
    verdict = Verdict(*_verdict_of(values))
    if verdict.standing:
        standing = Standing(verdict.canonical or 0, verdict.canonical_run or 0, is_elsewhere=True)
        verdict = replace(verdict, standing=standing)
    return Row(row, sighting, verdict, outcome, listed)


_OF_ROW = tuple(column for column in PAGES.fields if not column.is_primary)
_given = attrgetter(*(column.field for column in _OF_ROW))
_WRITERS = [(place, column.kind.write) for place, column in enumerate(_OF_ROW, 1) if column.kind.write]
INSERTED = ("scope", *(column.name for column in _OF_ROW))
"""The columns of a row that `values_of` gives, in their order."""
INSERT = PAGES.insert(("id", *INSERTED))


def values_of(row: Row, scope: int) -> list[Any]:
    """Return what `INSERT` takes after the number of the row; *scope* is that of its group."""
    values = [scope, *_given(row)]
    for place, write in _WRITERS:
        values[place] = write(values[place])
    return values


_OF_PRINT = tuple(column for column in _OF_ROW if column.field.startswith("sighting.fingerprint."))
REPRINT = f"UPDATE pages SET {', '.join(f'{column.name} = ?' for column in _OF_PRINT)} WHERE id = ?"


def print_of(row: int, fingerprint: Fingerprint) -> list[Any]:
    """Return what `REPRINT` takes to give *row* another *fingerprint*."""
    found = [(column.kind.write, getattr(fingerprint, column.name)) for column in _OF_PRINT]
    return [*(write(value) if write else value for write, value in found), row]


_GLANCE = Reader("row {}", PAGES.select(Glance._fields))
SELECT_GLANCE = f"SELECT {_GLANCE.sql} FROM pages WHERE id > ? "


def glance_of(stored: Sequence[Any]) -> Glance:
    """Return what `SELECT_GLANCE` gave; raises `Damaged`."""
    return Glance._make(_GLANCE.values(stored))


_KEPT_TEXT = Reader(
    "row {}",
    (
        *PAGES.select(
            ("id", "url", "seen_on", "run", "sample", "traits", "is_dry", "reason", "outcome", "kept")
        ),
        Column("what it repeats", DIGEST, default=b""),
        *SCOPES.select(("kind", "scope")),
    ),
)
# No join: a plan made for few rows might read all of the other side.
_REPEATED = (
    "CASE WHEN p.kept THEN p.token_digest "
    "ELSE (SELECT c.token_digest FROM pages c WHERE c.id = p.canonical) END"
)
SELECT_KEPT_TEXT = (
    "SELECT p.id, p.url, p.seen_on, p.run, p.sample, p.traits, p.is_dry, p.reason, p.outcome, p.kept, "
    f"{_REPEATED}, s.kind, s.scope "
    "FROM pages p JOIN scopes s ON s.id = p.scope "
)
TELLS_OF_SITE = f"(p.kept OR (p.reason = '{Reason.NEAR_DUPLICATE}' AND p.lost > 0))"
"""The condition that a row tells something of its site: it was kept, or lost a word."""


def kept_text_of(stored: Sequence[Any]) -> KeptText:
    """Return what `SELECT_KEPT_TEXT` gave; raises `Damaged`."""
    row, url, seen_on, run, sample, traits, is_dry, reason, outcome, *found = _KEPT_TEXT.values(stored)
    host = host_of(url) if seen_on is None else seen_on
    is_kept, repeated, kind, scope = found
    is_new = reason in (Reason.NEW, Reason.NEAR_DUPLICATE)
    return KeptText(
        *(row, (kind, scope), host, run, is_dry, is_new, outcome),
        told_by(sample, traits) if is_kept else told_by_copy(traits, repeated),
        is_kept,
    )


_PAGE = PAGES.select(field.name for field in fields(Fingerprint) if field.compare)
_CANONICAL = Reader(
    "row {}", (*PAGES.select(("id", "url", "run", "outcome", "represents", "seen_on")), *_PAGE)
)
SELECT_CANONICAL = f"SELECT {_CANONICAL.sql} FROM pages WHERE scope = ? AND listed "


def canonical_of(stored: Sequence[Any]) -> Canonical:
    """Return the canonical behind what `SELECT_CANONICAL` gave; raises `Damaged`."""
    row, url, run, outcome, represents, seen_on, *page = _CANONICAL.values(stored)
    host = host_of(url) if seen_on is None else seen_on
    is_pending = outcome is Outcome.PENDING
    return Canonical(row, url, run, is_pending, Fingerprint(*page), represents, host)
