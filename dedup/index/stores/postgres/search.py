"""The search for the canonicals near one page, in the tables of an index on PostgreSQL.

Rows are looked up by the keys of their bands, the rarest keys first, and the server itself rules out
most of them, by their codes.  Simhashes find nothing here: no index of a server finds those within ten
bits in less than reading them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dedup.algorithms.sketch import BINS
from dedup.index.mapping import SELECT_CANONICAL, canonical_of
from dedup.index.stores.base import NOT_UNDONE, Pool, Query
from dedup.index.stores.postgres.server import Bits, Numbers, Server
from dedup.index.stores.queries import Searching, Sketched, dry_runs_condition
from dedup.rule.keys import MAX_CANDIDATES, MIN_EQUAL_TOKENS
from dedup.rule.similarity import MIN_SIMILARITY
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import Row
from dedup.values.sighting import Sighting
from dedup.values.verdict import Candidates, Canonical


class Unsure(Exception):  # noqa: N818 - it says what is the matter
    """A verdict leans on more than the guess says."""


@dataclass(slots=True)
class Guess:
    """That there is no row of the identity of *sighting*, and nothing near its page.

    Facts are those of *epoch*; *searches* says whether the verdict leans on what is near.
    """

    sighting: Sighting
    epoch: int
    searches: bool = False

    @property
    def group(self) -> tuple[str, str]:
        """The kind and the scope of the page."""
        return self.sighting.kind, self.sighting.scope

    def rows(self, query: Query) -> Iterator[Row]:
        """Return the rows of *query*, none; raises `Unsure`."""
        if not self.is_of_it(query):
            raise Unsure
        return iter(())

    def is_of_it(self, query: Query) -> bool:
        """Return whether *query* asks for rows of the identity only."""
        seen = self.sighting
        column, value = seen.identity
        return (
            seen.is_named
            and query.group == self.group
            and getattr(query, column) == value
            and (query.listed or set(query.outcomes or ()) <= set(NOT_UNDONE))
        )

    def candidates(self, pool: Pool) -> Iterator[Candidates]:
        """Return what in *pool* is near, nothing; raises `Unsure` for another pool."""
        if not self.has_asked(None, pool):
            raise Unsure
        self.searches = True
        return iter(())

    def has_asked(self, page: Fingerprint | None, pool: Pool) -> bool:
        """Return whether *pool* is all of the group, for this *page*."""
        is_it = page is None or page is self.sighting.fingerprint
        return is_it and pool == Pool(self.group) and self.searches | (page is None)


# The codes of two bytes of sketches differ in so many bits, or in none.
_APART = 2
_ROUNDING = 1e-6
# Read by their numbers, in whatever plan: see `tables`.
_CANONICAL_OF = SELECT_CANONICAL.replace(
    "FROM pages ", "FROM (SELECT * FROM pages WHERE id = ANY(?) OFFSET 0) one "
)
_CODES = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], np.uint8)


def distance_to(column: str) -> str:
    """Return the Hamming distance of a simhash to one that is bound, as SQL says it."""
    return f"bit_count(({column} # ?)::bit(64))"


def code_of(sketch: bytes) -> Bits:
    """Return the code of *sketch*: of each byte three bits, which two bytes share, or but for two.

    So two codes differ in at most twice as many bits as their sketches do in bytes, and in one and a
    half times as many where these are random.
    """
    return Bits(np.packbits(_CODES[np.frombuffer(sketch, np.uint8) & 3]).tobytes())


def unlike_bits(sketch: bytes) -> int:
    """Return in how many bits, at most, the code of a canonical differs that may pass.

    One that differs in more has a sketch that is ruled out.
    """
    # So many bins are filled in either of two such pages, and a share that is no less is equal in both.
    either = min(BINS, (BINS - sketch.count(0)) / MIN_SIMILARITY)
    return _APART * int(either * (1 - MIN_SIMILARITY) + _ROUNDING)


class Found(NamedTuple):
    """A listed row that is equal to the page, or shares bands with it and may pass."""

    id: int
    sketch: bytes
    has_body: bool
    has_tokens: bool
    shared: int


@dataclass(slots=True)
class Search(Searching):
    """The search on *server*; *scope* is the number of the group.

    *known* is what was found already, by the same question; *keys_of* gives the keys of a sketch in a
    group.
    """

    server: Server
    scope: int
    known: list[Found] | None
    keys_of: Callable[[bytes, int], Numbers]
    _in_pool: str = field(init=False)
    _given: tuple[Any, ...] = field(init=False)
    _found: list[Found] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._in_pool, self._given = in_pool(self.pool)

    def equal(self) -> Iterator[list[Canonical]]:
        """See `Searching`."""
        self._found = self._equal_or_banded() if self.known is None else self.known
        if not any(found.has_body or found.has_tokens for found in self._found):  # as for most pages
            return
        bodies = [found.id for found in self._found if found.has_body]
        yield self._oldest(bodies)
        if self.page.tokens >= MIN_EQUAL_TOKENS:
            yield self._oldest([found.id for found in self._found if found.has_tokens])

    def _oldest(self, rows: list[int]) -> list[Canonical]:
        found = self.of_rows(sorted(rows)[:MAX_CANDIDATES]) if rows else []
        return sorted(found, key=lambda canonical: canonical.id)

    def _equal_or_banded(self) -> list[Found]:
        """Return what has the same bytes, the same tokens or a band of the page: one question to all."""
        page, pool, keys = self.page, self.pool, self.keys_of(self.page.sketch, self.scope)
        found = self._fetch(
            f"SELECT * FROM @.nearby({', '.join('?' * 9)})",
            (
                *(self.scope, page.body_digest, page.token_digest, keys, code_of(page.sketch)),
                *(unlike_bits(page.sketch), list(pool.dry_runs), list(pool.without)),
                MAX_CANDIDATES,
            ),
        )
        return [Found(*one) for one in found]

    def of_rows(self, rows: list[int]) -> list[Canonical]:
        """See `Searching`."""
        return [
            canonical_of(one)
            for one in self._fetch(f"{_CANONICAL_OF}{self._in_pool}", (rows, self.scope, *self._given))
        ]

    def near(self) -> Iterator[Iterable[Sketched]]:
        """See `Searching`; those with most bands in common, of equal ones the oldest, up to the cap."""
        banded = [found for found in self._found if found.shared]
        banded.sort(key=lambda found: (-found.shared, found.id))
        yield [(found.id, found.sketch) for found in banded[:MAX_CANDIDATES]]

    def _fetch(self, text: str, values: tuple[Any, ...]) -> list[Any]:
        return self.server.execute(text, values).fetchall()


def in_pool(pool: Pool) -> tuple[str, tuple[Any, ...]]:
    """Return the condition that a listed row of the group is in *pool*, and what it takes."""
    text = f"AND {dry_runs_condition(pool.dry_runs)} "
    if pool.without:
        return f"{text}AND id != ALL(?) ", (list(pool.without),)
    return text, ()
