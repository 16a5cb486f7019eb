"""The search for the canonicals near one page, in the tables of an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dedup.config import DedupConfig
from dedup.index.base import Sighting
from dedup.index.postings import PostingList
from dedup.index.tables import SELECT_CANONICAL, canonical_of
from dedup.verdict import MIN_EQUAL_TOKENS, Canonical, nearness, uses_structure
from dedup.words import signed

# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500

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

    def batches(self) -> Iterator[list[Canonical]]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        page, config = self.sighting.fingerprint, self.config
        yield self._fresh(self._equal("body_digest", page.body_digest))
        if page.tokens >= MIN_EQUAL_TOKENS:
            yield self._fresh(self._equal("token_digest", page.token_digest))
        if page.content:
            for distance in sorted({min(NEAR, config.max_distance), config.max_distance}):
                yield self._fresh(self._near_content(distance))
        if page.structure and uses_structure(config):
            yield self._fresh(self._near_structure())

    def _fresh(self, found: Iterable[Canonical]) -> list[Canonical]:
        page = self.sighting.fingerprint
        new = [canonical for canonical in found if canonical.id not in self._seen]
        self._seen.update(canonical.id for canonical in new)
        return sorted(new, key=lambda canonical: nearness(page, canonical))

    def _equal(self, column: str, value: bytes) -> Iterator[Canonical]:
        return self._select(f"AND {column} = ? ORDER BY id LIMIT ?", [value, self.config.max_candidates])

    def _near_content(self, distance: int) -> Iterator[Canonical]:
        """Yield canonicals of the nearest words, of equally near ones the oldest, up to the cap."""
        page, left = self.sighting.fingerprint.content, self.config.max_candidates
        words = self.content.find(page, distance)
        if len(words) <= min(_BATCH, left):
            found = self._of_words(words, left + 1)
            if len(found) <= left:
                yield from found
                return
        for near in _by_distance(page, words, left):
            found = self._of_words(near, left)
            left -= len(found)
            yield from found

    def _near_structure(self) -> list[Canonical]:
        """Return the newest canonicals of the nearest words."""
        page, limit = self.sighting.fingerprint.structure, self.config.max_structure_candidates
        words = self.structure.find(page, self.config.structure_max_distance)
        nearest = [
            word for near in _by_distance(page, words, self.config.max_candidates) for word in near
        ]
        if len(nearest) > limit:
            nearest = self._newest_words(nearest, limit)
        found = [
            canonical
            for word in nearest
            for canonical in self._select(
                "AND structure = ? ORDER BY id DESC LIMIT ?", [signed(word), limit]
            )
        ]
        found.sort(key=lambda canonical: canonical.id)
        return found[-limit:]

    def _newest_words(self, words: Sequence[int], limit: int) -> list[int]:
        """Return the words with the newest pages: the newest pages of all are among theirs."""
        newest = {
            word: self.connection.execute(
                f"SELECT max(id) FROM pages WHERE scope = ?1 AND listed {_NOT_OWN} AND structure = ?4",
                (*self._own(), signed(word)),
            ).fetchone()[0]
            or 0
            for word in words
        }
        return sorted(newest, key=lambda word: -newest[word])[:limit]

    def _of_words(self, words: Sequence[int], limit: int) -> list[Canonical]:
        """Return the oldest canonicals of *words*."""
        found: list[Canonical] = []
        for start in range(0, len(words), _BATCH):
            batch = [signed(word) for word in words[start : start + _BATCH]]
            marks = ",".join("?" * len(batch))
            found += self._select(f"AND content IN ({marks}) ORDER BY id LIMIT ?", [*batch, limit])
        return sorted(found, key=lambda canonical: canonical.id)[:limit]

    def _select(self, where: str, values: Sequence[object]) -> Iterator[Canonical]:
        rows = self.connection.execute(SELECT_CANONICAL + _NOT_OWN + where, (*self._own(), *values))
        return map(canonical_of, rows)

    def _own(self) -> tuple[int, str, int]:
        return (self.scope, self.sighting.url_key, self.sighting.run)


def _by_distance(word: int, words: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Yield *words* in groups of equal distance to *word*, the nearest first, *limit* in all."""
    ordered = sorted(words, key=lambda other: ((other ^ word).bit_count(), other))[:limit]
    group: list[int] = []
    for other in ordered:
        if group and (other ^ word).bit_count() != (group[0] ^ word).bit_count():
            yield group
            group = []
        group.append(other)
    if group:
        yield group
