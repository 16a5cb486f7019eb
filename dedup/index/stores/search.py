"""The search for the canonicals near one page: in which order they are asked for, in whatever store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress

from dedup.index.bands import Sketched
from dedup.index.database_files import Damaged
from dedup.index.stores.base import Pool
from dedup.recipes.config import DedupConfig
from dedup.rule.keys import nearness, uses_content, uses_structure
from dedup.rule.verifier import verifier_of
from dedup.values.fingerprint import Fingerprint
from dedup.values.verdict import Candidates, Canonical

# Most duplicates are this near, and looking that far costs little; the rest comes second.
NEAR = 3
_BATCH = 500
NOTHING = Candidates((), 0)


@dataclass(slots=True)
class Searching(ABC):
    """What in *pool* may be the canonical of *page*; a store says how it is found."""

    page: Fingerprint
    pool: Pool
    config: DedupConfig
    _seen: set[int] = field(init=False, default_factory=set)

    def batches(self) -> Iterator[Candidates]:
        """Yield canonicals in the order of `nearness`, in batches, each found only when asked for."""
        page, config = self.page, self.config
        yield from map(self._taken, self.equal())
        if page.content_simhash and uses_content(config):
            for distance in sorted({min(NEAR, config.max_distance), config.max_distance}):
                yield self._near(self.near_content(distance))
        others: dict[int, bytes] = {}
        if page.structure_simhash and uses_structure(config):
            others.update(self.near_structure())
        others.update(self.near_bands())
        yield self._near(others.items())

    @abstractmethod
    def equal(self) -> Iterator[list[Canonical]]:
        """Yield the oldest canonicals with the same bytes, then those with the same tokens."""

    @abstractmethod
    def near_content(self, distance: int) -> Iterable[Sketched]:
        """Return canonicals of the nearest simhashes, of equally near ones the oldest, up to the cap."""

    @abstractmethod
    def near_structure(self) -> Iterable[Sketched]:
        """Return the newest canonicals of the nearest simhashes, in no order."""

    @abstractmethod
    def near_bands(self) -> Iterable[Sketched]:
        """Return the canonicals with most bands in common, of equal ones the oldest, up to the cap.

        Nothing where bands find no candidates.
        """

    @abstractmethod
    def of_rows(self, rows: list[int]) -> list[Canonical]:
        """Return the canonicals of those numbers, in no order."""

    def _taken(self, found: list[Canonical]) -> Candidates:
        if not found:
            return NOTHING
        self._seen.update(canonical.id for canonical in found)
        return Candidates(self._ordered(found), len(found))

    def _near(self, found: Iterable[Sketched]) -> Candidates:
        """Return those not seen before that their sketches do not rule out; mostly there are none."""
        new = [(row, sketch) for row, sketch in found if row not in self._seen]
        if not new:
            return NOTHING
        self._seen.update(row for row, _ in new)
        try:
            verifier = verifier_of(self.config)
            passing = verifier.may_pass(self.page, [sketch for _, sketch in new])
        except (TypeError, ValueError) as error:
            raise Damaged("a sketch has another size") from error
        rows = [row for row, _ in compress(new, passing)]
        canonicals = [
            canonical
            for start in range(0, len(rows), _BATCH)
            for canonical in self.of_rows(rows[start : start + _BATCH])
        ]
        return Candidates(self._ordered(canonicals), len(new))

    def _ordered(self, found: list[Canonical]) -> list[Canonical]:
        page = self.page
        return sorted(found, key=lambda canonical: nearness(page, canonical))
