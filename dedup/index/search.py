"""The search for the canonicals near one page, in the tables of an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import itemgetter
from typing import Any

import numpy as np

from dedup.config import DedupConfig
from dedup.hashing import Words
from dedup.index.base import Sighting
from dedup.index.postings import PostingList
from dedup.index.tables import SELECT_CANONICAL, canonical_of
from dedup.verdict import (
    MIN_EQUAL_TOKENS,
    Candidates,
    may_verify,
    nearness,
    uses_structure,
)

# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500

# A row of `SELECT_CANONICAL`: most are ruled out before it is worth to make a canonical of them.
Found = tuple[Any, ...]

# Own versions from other runs are no candidates, unless this run has met them again.
_NOT_OWN = (
    "AND NOT (url_key = ?2 AND url_key != '' AND run != ?3 AND id NOT IN ("
    "SELECT canonical FROM pages WHERE scope = ?1 AND url_key = ?2 AND url_key != '' "
    "AND run = ?3 AND reason = 'unchanged' AND previous = canonical)) "
)


@dataclass(slots=True)
class Search:
    """What may be the canonical of *sighting*; *scope* is the number of its group.

    *content* and *structure* are the posting lists of the group.
    """

    connection: sqlite3.Connection
    sighting: Sighting
    scope: int
    content: PostingList
    structure: PostingList
    config: DedupConfig
    _seen: set[int] = field(default_factory=set)

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        page, config = self.sighting.fingerprint, self.config
        yield self._equal("body_digest", page.body_digest)
        if page.tokens >= MIN_EQUAL_TOKENS:
            yield self._equal("token_digest", page.token_digest)
        if page.content:
            for distance in sorted({min(NEAR, config.max_distance), config.max_distance}):
                yield self._near(self._near_content(distance))
        if page.structure and uses_structure(config):
            yield self._near(self._near_structure())

    def _equal(self, column: str, value: bytes) -> Candidates:
        where = f"AND {column} = ? ORDER BY id LIMIT ?"
        return self._ordered(self._select(where, [value, self.config.max_candidates]))

    def _near(self, found: Iterable[Found]) -> Candidates:
        """Return those not seen before that the sketches do not rule out; few, mostly none, do."""
        new = [fields for fields in found if fields[0] not in self._seen]
        self._seen.update(fields[0] for fields in new)
        passing = may_verify(self.sighting.fingerprint, [fields[3] for fields in new], self.config)
        return self._ordered(list(compress(new, passing)), len(new))

    def _ordered(self, found: list[Found], looked_at: int | None = None) -> Candidates:
        self._seen.update(fields[0] for fields in found)
        page = self.sighting.fingerprint
        canonicals = sorted(map(canonical_of, found), key=lambda canonical: nearness(page, canonical))
        return Candidates(canonicals, len(found) if looked_at is None else looked_at)

    def _near_content(self, distance: int) -> Iterator[Found]:
        """Yield canonicals of the nearest words, of equally near ones the oldest, up to the cap."""
        page, left = self.sighting.fingerprint.content, self.config.max_candidates
        words = self.content.near(page, distance)
        if len(words) <= min(_BATCH, left):
            found = self._of_words(words, left + 1)
            if len(found) <= left:
                yield from found
                return
        for near in _by_distance(page, words, left):
            found = self._of_words(near, left)
            left -= len(found)
            yield from found

    def _near_structure(self) -> list[Found]:
        """Return the newest canonicals of the nearest words."""
        page, limit = self.sighting.fingerprint.structure, self.config.max_structure_candidates
        words = self.structure.near(page, self.config.structure_max_distance)
        if len(words) > limit:
            nearest = np.concatenate(list(_by_distance(page, words, self.config.max_candidates)))
            words = self._newest_words(nearest, limit)
        found = [
            fields
            for word in words.view(np.int64).tolist()
            for fields in self._select("AND structure = ? ORDER BY id DESC LIMIT ?", [word, limit])
        ]
        found.sort(key=itemgetter(0))
        return found[-limit:]

    def _newest_words(self, words: Words, limit: int) -> Words:
        """Return the words with the newest pages: the newest pages of all are among theirs."""
        statement = (
            f"SELECT max(id) FROM pages WHERE scope = ?1 AND listed {_NOT_OWN} AND structure = ?4"
        )
        newest = [
            self.connection.execute(statement, (*self._own(), word)).fetchone()[0] or 0
            for word in words.view(np.int64).tolist()
        ]
        return words[np.argsort(newest)[-limit:]]

    def _of_words(self, words: Words, limit: int) -> list[Found]:
        """Return the oldest canonicals of *words*."""
        found: list[Found] = []
        for start in range(0, len(words), _BATCH):
            batch = words[start : start + _BATCH].view(np.int64).tolist()
            marks = ",".join("?" * len(batch))
            found += self._select(f"AND content IN ({marks}) ORDER BY id LIMIT ?", [*batch, limit])
        return sorted(found, key=itemgetter(0))[:limit]

    def _select(self, where: str, values: Sequence[object]) -> list[Found]:
        rows = self.connection.execute(SELECT_CANONICAL + _NOT_OWN + where, (*self._own(), *values))
        return rows.fetchall()

    def _own(self) -> tuple[int, str, int]:
        return (self.scope, self.sighting.url_key, self.sighting.run)


def _by_distance(word: int, words: Words, limit: int) -> list[Words]:
    """Return the *limit* words nearest to *word*, of equally near ones the smallest, by distance."""
    distances = np.bitwise_count(words ^ np.uint64(word))
    order = np.lexsort((words, distances))[:limit]
    groups: list[Words] = np.split(words[order], np.flatnonzero(np.diff(distances[order])) + 1)
    return groups
