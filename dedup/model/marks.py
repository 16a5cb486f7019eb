"""What somebody has said about pairs of pages and about places, whatever the rule says of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from dedup.model.errors import ConfigError
from dedup.model.urls import url_key

DIFFERENT, COPY = "different", "copy"
SAYINGS = (DIFFERENT, COPY)

COLUMNS = ("site", "label", "page", "other", "says", "place")
"""The columns of a new file of marks; a file needs page, other and says."""
MARKED = "\0"  # a variant of a page that begins like this says what is in places which tell pages apart

Keys = tuple[tuple[str, str], ...]


class Said(NamedTuple):
    """That *page* is `different` from *other*, or a `copy` of it; both are URLs."""

    page: str
    other: str
    says: str
    site: str = ""
    # With one (`dedup.reading.noise.place_name`): that all pages of the site are different which differ
    # there, or that the place does not matter.
    place: str = ""


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Pairs of pages by their URLs in canonical form, in order."""

    different: Keys = ()  # neither is dropped for the other: each pair is there in both orders
    # The first is dropped for the second, never the second for the first: whoever judged the pair says
    # that nothing is lost with the one that was dropped.
    copies: Keys = ()
    places: tuple[tuple[str, str, str], ...] = ()  # the site, the place, and what is said of all pages

    @classmethod
    def of(cls, said: Iterable[Said]) -> Self:
        """Return what was *said*; raises `ConfigError` for bad or contradictory pairs.

        >>> Exceptions.of([Said("http://a/2", "http://a/1", "copy")]).originals("http://a/2")
        ['http://a/1']
        """
        found: dict[frozenset[str], tuple[str, str, str]] = {}
        places: dict[tuple[str, str], str] = {}
        for page, other, says, site, place in said:
            keys = url_key(page), url_key(other)
            if says not in SAYINGS:
                raise ConfigError(f"{says!r} must be one of {', '.join(SAYINGS)}")
            if place:
                if places.setdefault((site, place), says) != says:
                    raise ConfigError(f"{place!r} is said to be {places[site, place]} and {says}")
                continue
            if not all(keys) or keys[0] == keys[1]:
                raise ConfigError(f"{page!r} and {other!r} must be the URLs of two pages")
            before = found.setdefault(frozenset(keys), (*keys, says))
            if before[2] != says:
                raise ConfigError(f"{page!r} and {other!r} are said to be {before[2]} and {says}")
            if before != (*keys, says) and says == COPY:
                raise ConfigError(f"{page!r} and {other!r} are said to be copies of each other")
        pairs = [(one, other) for one, other, says in found.values() if says == DIFFERENT]
        copies = [(one, other) for one, other, says in found.values() if says == COPY]
        both = sorted([*pairs, *((other, one) for one, other in pairs)])
        of_sites = sorted((*place, says) for place, says in places.items())
        return cls(tuple(both), tuple(sorted(copies)), tuple(of_sites))

    def strangers(self, key: str) -> list[str]:
        """Return the keys of the pages that the page of *key* is different from."""
        return _of(self.different, key)

    def originals(self, key: str) -> list[str]:
        """Return the keys of the pages that the page of *key* is a copy of."""
        return _of(self.copies, key)

    def said(self) -> Iterator[Said]:
        """Yield what these are made of, each once."""
        yield from (Said("", "", says, site, place) for site, place, says in self.places)
        yield from (Said(*pair, DIFFERENT) for pair in self.different if pair == (*sorted(pair),))
        yield from (Said(*pair, COPY) for pair in self.copies)

    def __len__(self) -> int:
        """Return how many pairs and places there are."""
        return len(self.different) // 2 + len(self.copies) + len(self.places)


@dataclass(frozen=True, slots=True)
class Marks:
    """A file of marks as it stands: its *columns*, and *rows* with a cell for each."""

    columns: tuple[str, ...] = COLUMNS
    rows: tuple[tuple[str, ...], ...] = ()

    def with_mark(self, cells: Mapping[str, str]) -> Self:
        """Return these marks with one more, by column, in place of what is said of the same.

        One that says "" takes the mark back.  Raises `ConfigError` for a bad mark.

        >>> marks = Marks(("page", "other", "says"))
        >>> marks.with_mark({"page": "http://a/2", "other": "http://a/1", "says": "copy"}).rows
        (('http://a/2', 'http://a/1', 'copy'),)
        """
        said = said_by(cells)
        columns = [*self.columns]
        if said.place:
            columns += (name for name in ("site", "place") if name not in columns)
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        rows = [row for row in rows if about(said_by(row)) != about(said)]
        if said.says:
            Exceptions.of([said])
            rows.append(dict(cells))
        found = tuple(tuple(row.get(name, "") for name in columns) for row in rows)
        return replace(self, columns=tuple(columns), rows=found)


def said_by(cells: Mapping[str, str | None]) -> Said:
    """Return what a row of a file says, by its *cells*."""
    return Said(*((cells.get(name) or "").strip() for name in Said._fields))


def about(said: Said) -> frozenset[str]:
    """Return what it is said of, in any order."""
    of = (said.site, said.place) if said.place else (url_key(said.page), url_key(said.other))
    return frozenset(of)


def _of(pairs: Keys, key: str) -> list[str]:
    here = slice(bisect_left(pairs, (key, "")), bisect_left(pairs, (f"{key}\0", "")))
    return [other for _, other in pairs[here]]


NO_EXCEPTIONS = Exceptions()
