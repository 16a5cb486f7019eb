"""The search for the canonicals near one page, in the tables of an index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from operator import itemgetter
from typing import Any

import numpy as np

from dedup.config import DedupConfig
from dedup.hashing import Words
from dedup.index.bands import BandList, Sketched
from dedup.index.files import Damaged
from dedup.index.postings import PostingList
from dedup.index.rows import Sighting
from dedup.index.tables import NOT_UNDONE, SELECT_CANONICAL, canonical_of
from dedup.verdict import (
    MIN_EQUAL_TOKENS,
    Candidates,
    Canonical,
    may_verify,
    nearness,
    uses_content,
    uses_structure,
)

# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500
_NOTHING = Candidates((), 0)
# With more words than these, the newest pages of all are looked through first: this many for each
# that is wanted.
_FEW_WORDS = 8
_NEWEST = 4

# Own versions from other runs are no candidates, unless this run has met them again.
_NOT_OWN = (
    "AND NOT (url_key = ?2 AND url_key != '' AND run != ?3 AND id NOT IN ("
    "SELECT canonical FROM pages WHERE scope = ?1 AND url_key = ?2 AND url_key != '' "
    "AND run = ?3 AND reason = 'unchanged' AND previous = canonical "
    f"AND {NOT_UNDONE})) "
)


@dataclass(slots=True)
class Search:
    """What may be the canonical of *sighting*; *scope* is the number of its group.

    *content* and *structure* are the posting lists of the group, *bands* its list of bands, None
    where bands find no candidates.
    """

    connection: sqlite3.Connection
    sighting: Sighting
    scope: int
    content: PostingList
    structure: PostingList
    bands: BandList | None
    config: DedupConfig
    _seen: set[int] = field(default_factory=set)

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        page, config = self.sighting.fingerprint, self.config
        yield self._equal("body_digest", page.body_digest)
        if page.tokens >= MIN_EQUAL_TOKENS:
            yield self._equal("token_digest", page.token_digest)
        if page.content and uses_content(config):
            for distance in sorted({min(NEAR, config.max_distance), config.max_distance}):
                yield self._near(self._near_content(distance))
        others: dict[int, bytes] = {}
        if page.structure and uses_structure(config):
            others.update(self._near_structure())
        if self.bands:
            others.update(self._near_bands(self.bands))
        yield self._near(others.items())

    def _equal(self, column: str, value: bytes) -> Candidates:
        where = f"AND {column} = ? ORDER BY id LIMIT ?"
        found = self._canonicals(where, [value, self.config.max_candidates])
        if not found:
            return _NOTHING
        self._seen.update(canonical.id for canonical in found)
        return Candidates(self._ordered(found), len(found))

    def _near(self, found: Iterable[Sketched]) -> Candidates:
        """Return those not seen before that their sketches do not rule out; mostly there are none."""
        new = [(row, sketch) for row, sketch in found if row not in self._seen]
        if not new:
            return _NOTHING
        self._seen.update(row for row, _ in new)
        try:
            passing = may_verify(self.sighting.fingerprint, [sketch for _, sketch in new], self.config)
        except (TypeError, ValueError) as error:
            raise Damaged("a sketch has another size") from error
        rows = [row for row, _ in compress(new, passing)]
        canonicals = [
            canonical
            for start in range(0, len(rows), _BATCH)
            for canonical in self._of_rows(rows[start : start + _BATCH])
        ]
        return Candidates(self._ordered(canonicals), len(new))

    def _of_rows(self, rows: list[int]) -> list[Canonical]:
        return self._canonicals(f"AND id IN ({','.join('?' * len(rows))})", rows)

    def _ordered(self, found: list[Canonical]) -> list[Canonical]:
        page = self.sighting.fingerprint
        return sorted(found, key=lambda canonical: nearness(page, canonical))

    def _near_content(self, distance: int) -> Iterator[Sketched]:
        """Yield canonicals of the nearest words, of equally near ones the oldest, up to the cap."""
        page, left = self.sighting.fingerprint.content, self.config.max_candidates
        words = self.content.near(page, distance)
        if not len(words):
            return
        if len(words) <= min(_BATCH, left):
            found = self._of_words(words, left + 1)
            if len(found) <= left:
                yield from found
                return
        for near in by_distance(page, words, left):
            found = self._of_words(near, left)
            left -= len(found)
            yield from found

    def _near_structure(self) -> list[Sketched]:
        """Return the newest canonicals of the nearest words, in no order."""
        page, limit = self.sighting.fingerprint.structure, self.config.max_structure_candidates
        words = self.structure.near(page, self.config.structure_max_distance)
        if len(words) > min(limit, self.config.max_candidates):
            words = np.concatenate(list(by_distance(page, words, self.config.max_candidates)))
        if len(words) > _FEW_WORDS and len(newest := self._newest_with(words, limit)) == limit:
            return newest
        if len(words) > limit:
            words = self._newest_words(words, limit)
        found: list[Sketched] = []
        for word in words.view(np.int64).tolist():
            oldest = found[0][0] if len(found) == limit else 0
            where = "AND structure = ? AND id > ? ORDER BY id DESC LIMIT ?"
            found += self._sketches(where, [word, oldest, limit])
            found = sorted(found, key=itemgetter(0))[-limit:]
        return found

    def _newest_with(self, words: Words, limit: int) -> list[Sketched]:
        """Return the newest canonicals of *words*, as far as they are among the newest pages of all.

        On a site of one template nearly all pages are; asking word by word reads many times as many.
        """
        wanted = set(words.view(np.int64).tolist())
        rows = self.connection.execute(
            "SELECT id, sketch, structure FROM pages NOT INDEXED WHERE scope = ?1 AND listed "
            f"{_NOT_OWN} AND id > (SELECT max(id) FROM pages) - ?4 ORDER BY id DESC",
            (*self._own, _NEWEST * limit),
        )
        found = ((row, sketch) for row, sketch, word in rows if word in wanted)
        return list(islice(found, limit))

    def _near_bands(self, bands: BandList) -> list[Sketched]:
        """Return the canonicals with most bands in common, of equal ones the oldest, up to the cap."""
        rows, limit = bands.find(self.sighting.fingerprint.sketch), self.config.max_candidates
        found: dict[int, bytes] = {}
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            found.update(self._sketches(f"AND id IN ({','.join('?' * len(batch))})", batch))
            if len(found) >= limit:
                break
        return [(row, found[row]) for row in rows if row in found][:limit]

    def _newest_words(self, words: Words, limit: int) -> Words:
        """Return the words with the newest pages: the newest pages of all are among theirs."""
        newest = self.connection.execute(
            # Not max(id): beside other conditions it would read all pages of a word.
            "SELECT value, (SELECT id FROM pages WHERE scope = ?1 AND listed "
            f"{_NOT_OWN} AND structure = value ORDER BY id DESC LIMIT 1) AS newest "
            "FROM json_each(?4) ORDER BY newest DESC LIMIT ?5",
            (*self._own, json.dumps(words.view(np.int64).tolist()), limit),
        )
        return np.fromiter((word for word, _ in newest), np.int64).view(np.uint64)

    def _of_words(self, words: Words, limit: int) -> list[Sketched]:
        """Return the oldest canonicals of *words*."""
        found: list[Sketched] = []
        for start in range(0, len(words), _BATCH):
            batch = words[start : start + _BATCH].view(np.int64).tolist()
            marks = ",".join("?" * len(batch))
            found += self._sketches(f"AND content IN ({marks}) ORDER BY id LIMIT ?", [*batch, limit])
        return sorted(found, key=itemgetter(0))[:limit]

    def _sketches(self, where: str, values: Sequence[object]) -> list[Sketched]:
        return self._fetch("SELECT id, sketch FROM pages WHERE scope = ?1 AND listed ", where, values)

    def _canonicals(self, where: str, values: Sequence[object]) -> list[Canonical]:
        return [canonical_of(fields) for fields in self._fetch(SELECT_CANONICAL, where, values)]

    def _fetch(self, select: str, where: str, values: Sequence[object]) -> list[Any]:
        return self.connection.execute(select + _NOT_OWN + where, (*self._own, *values)).fetchall()

    @property
    def _own(self) -> tuple[int, str, int]:
        """What `_NOT_OWN` and the scope before it take."""
        return self.scope, self.sighting.url_key, self.sighting.run


def by_distance(word: int, words: Words, limit: int) -> list[Words]:
    """Return the *limit* words nearest to *word*, of equally near ones the smallest, by distance."""
    distances = np.bitwise_count(words ^ np.uint64(word))
    order = np.lexsort((words, distances))[:limit]
    groups: list[Words] = np.split(words[order], np.flatnonzero(np.diff(distances[order])) + 1)
    return groups
