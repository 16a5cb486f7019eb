"""The search for the canonicals near one page, in the tables of an index on PostgreSQL.

Rows are looked up by the keys of their bands, the rarest keys first, and the server itself rules out
most of them, by their codes.  Simhashes are compared one by one by the server, exactly: no index there
finds those within ten bits in less than reading them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dedup.algorithms.sketch import BINS
from dedup.index.bands import Sketched
from dedup.index.mapping import SELECT_CANONICAL, canonical_of
from dedup.index.stores.base import NOT_UNDONE, Pool, Query
from dedup.index.stores.postgres.server import Bits, Numbers, Server
from dedup.index.stores.queries import Searching, dry_runs_condition
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import (
    MAX_STRUCTURE_CANDIDATES,
    MIN_EQUAL_TOKENS,
    STRUCTURE_MAX_DISTANCE,
    uses_simhashes,
)
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import Row
from dedup.values.sighting import Sighting
from dedup.values.simhashes import signed
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

    def candidates(self, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        """Return what in *pool* is near, nothing; raises `Unsure` where simhashes find candidates."""
        if uses_simhashes(config) or not self.has_asked(None, pool):
            raise Unsure
        self.searches = True
        return iter(())

    def has_asked(self, page: Fingerprint | None, pool: Pool) -> bool:
        """Return whether *pool* is all of the group, for this *page*."""
        is_it = page is None or page is self.sighting.fingerprint
        return is_it and pool == Pool(self.group) and self.searches | (page is None)


# Turns the order of signed numbers into that of unsigned ones.
_SIGN = "(-9223372036854775808)::bigint"
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


def unlike_bits(sketch: bytes, config: DedupConfig) -> int:
    """Return in how many bits, at most, the code of a canonical differs that may pass by *config*.

    One that differs in more has a sketch that is ruled out.
    """
    if config.min_similarity <= 0:
        return _APART * BINS
    # So many bins are filled in either of two such pages, and a share that is no less is equal in both.
    either = min(BINS, (BINS - sketch.count(0)) / config.min_similarity)
    return _APART * int(either * (1 - config.min_similarity) + _ROUNDING)


class Found(NamedTuple):
    """A listed row that is equal to the page, or shares bands with it and may pass."""

    id: int
    sketch: bytes
    has_body: bool
    has_tokens: bool
    shared: int


@dataclass(slots=True)
class Search(Searching):
    """The search on *server*; *scope* is the number of the group, *bands* are the keys of the page."""

    server: Server
    scope: int
    bands: Numbers
    known: list[Found] | None = None
    """What was found already, by the same question."""
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
        found = self.of_rows(sorted(rows)[: self.config.max_candidates]) if rows else []
        return sorted(found, key=lambda canonical: canonical.id)

    def _equal_or_banded(self) -> list[Found]:
        """Return what has the same bytes, the same tokens or a band of the page: one question to all."""
        page, pool = self.page, self.pool
        found = self._fetch(
            f"SELECT * FROM @.nearby({', '.join('?' * 9)})",
            (
                *(self.scope, page.body_digest, page.token_digest, self.bands, code_of(page.sketch)),
                *(unlike_bits(page.sketch, self.config), list(pool.dry_runs), list(pool.without)),
                self.config.max_candidates,
            ),
        )
        return [Found(*one) for one in found]

    def of_rows(self, rows: list[int]) -> list[Canonical]:
        """See `Searching`."""
        return [
            canonical_of(one)
            for one in self._fetch(f"{_CANONICAL_OF}{self._in_pool}", (rows, self.scope, *self._given))
        ]

    def near_content(self, distance: int) -> list[Sketched]:
        """See `Searching`."""
        limit = self.config.max_candidates
        return self._near_simhashes("content", distance, "d, id", limit)

    def near_structure(self) -> list[Sketched]:
        """See `Searching`."""
        limit = MAX_STRUCTURE_CANDIDATES
        return self._near_simhashes("structure", STRUCTURE_MAX_DISTANCE, "id DESC", limit)

    def near_bands(self) -> list[Sketched]:
        """See `Searching`."""
        banded = [found for found in self._found if found.shared]
        banded.sort(key=lambda found: (-found.shared, found.id))
        return [(found.id, found.sketch) for found in banded[: self.config.max_candidates]]

    def _near_simhashes(self, field: str, distance: int, order: str, limit: int) -> list[Sketched]:
        """Return canonicals of the nearest simhashes, of equally near ones the smallest."""
        column = f"{field}_simhash"
        simhash = signed(self.page.simhash(field))
        return self._fetch(
            f"WITH near AS MATERIALIZED (SELECT id, sketch, is_dry, run, {column} AS simhash, "
            f"{distance_to(column)} AS d FROM pages WHERE scope = ? AND listed AND {column} != 0 "
            f"AND {distance_to(column)} <= ?), "
            "nearest AS (SELECT simhash FROM near GROUP BY simhash, d "
            f"ORDER BY d, simhash # {_SIGN} LIMIT ?) "
            f"SELECT id, sketch FROM near WHERE simhash IN (SELECT simhash FROM nearest) "
            f"{self._in_pool}ORDER BY {order} LIMIT ?",
            (
                *(simhash, self.scope, simhash, distance, self.config.max_candidates),
                *(*self._given, limit),
            ),
        )

    def _fetch(self, text: str, values: tuple[Any, ...]) -> list[Any]:
        return self.server.execute(text, values).fetchall()


def in_pool(pool: Pool) -> tuple[str, tuple[Any, ...]]:
    """Return the condition that a listed row of the group is in *pool*, and what it takes."""
    text = f"AND {dry_runs_condition(pool.dry_runs)} "
    if pool.without:
        return f"{text}AND id != ALL(?) ", (list(pool.without),)
    return text, ()
