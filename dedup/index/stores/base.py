"""What a store does for the rules above it: it holds rows, records and lists, and knows no rule.

A new one implements `Store`; `tests/dedup/index/test_stores.py` says whether it does so correctly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar

from dedup.recipes.config import DedupConfig
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import Glance, KeptText, NoSuchRow, Row, Run, Statistics, Visit, Withheld
from dedup.values.verdict import UNDONE, Candidates, Outcome

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
