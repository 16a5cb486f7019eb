"""What stands in the tables of an index: how it becomes values of ours, checked, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, NamedTuple

from dedup.index.files import Damaged
from dedup.model.fingerprint import BINS, Fingerprint, Sighting
from dedup.model.hashes import DIGEST_SIZE, SIMHASH_BITS, signed, unsigned
from dedup.model.row import EARLIEST, LATEST, Glance, KeptText, Row, Run, Visit, Withheld
from dedup.model.urls import host_of
from dedup.model.verdict import Canonical, Outcome, Reason, Standing, Verdict
from dedup.prints.samples import SAMPLED_BYTES
from dedup.rule.site import told_by, told_by_copy

_SHOWN = 40
_LARGEST = 2**63 - 1

Group = tuple[str, str]
"""A kind and a scope: pages are compared within one group only."""

# Makes a value of ours of a stored one, or the other way round.
Converter = Callable[[Any], Any]

# What may stand in a column


class Kind(NamedTuple):
    """Which *types* a stored value may have, and how it becomes a value of ours.

    *read* raises KeyError or ValueError for an invalid one.  *write* makes what is stored.
    """

    types: Any
    read: Converter | None = None
    write: Converter | None = None

    @property
    def optional(self) -> Kind:
        """The same, or NULL for None."""
        return self._replace(types=(self.types, NoneType))


def _within(low: float, high: float) -> Converter:
    def read(value: float | None) -> float | None:
        if value is None or low <= value <= high:
            return value
        raise ValueError

    return read


def _sized(is_right: Callable[[int], bool]) -> Converter:
    def read(value: bytes) -> bytes:
        if is_right(len(value)):
            return value
        raise ValueError

    return read


def _urls(lines: str) -> tuple[str, ...]:
    return tuple(lines.split("\n")) if lines else ()


def _lines(urls: Iterable[str]) -> str:
    return "\n".join(url.replace("\n", "%0A") for url in urls)


def _is_elsewhere(standing: Standing | None) -> bool:
    return standing is not None and standing.is_elsewhere


NUMBER = Kind(int)
TEXT = Kind(str)
COUNT = Kind(int, _within(0, _LARGEST))
TIME = Kind(float, _within(EARLIEST, LATEST))
SIMILARITY = Kind(float, _within(0, 1)).optional
# Looking a distance up is faster than comparing it twice.
_DISTANCES: dict[int | None, int | None] = {bits: bits for bits in (None, *range(SIMHASH_BITS + 1))}
DISTANCE = Kind(int, _DISTANCES.__getitem__).optional
SIMHASH = Kind(int, unsigned, signed)
SKETCH = Kind(bytes, _sized(BINS.__eq__))
SAMPLE = Kind(bytes, _sized(lambda size: size % SAMPLED_BYTES == 0))
DIGEST = Kind(bytes, _sized((0, DIGEST_SIZE).__contains__))
URLS = Kind(str, _urls, _lines)
FLAG = Kind(int, {0: False, 1: True}.__getitem__)
REASON = Kind(str, {reason.value: reason for reason in Reason}.__getitem__)
OUTCOME = Kind(str, {outcome.value: outcome for outcome in Outcome}.__getitem__)
# `canonical` and its run say which row and run it is of.
STANDING = Kind(int, {0: None, 1: Standing(0, 0, is_elsewhere=True)}.__getitem__, _is_elsewhere)


class Column(NamedTuple):
    """A column; *field* is the path of attributes to its value in a `Row`, "" for none."""

    name: str
    kind: Kind
    field: str = ""

    def read(self, stored: Any) -> Any:
        """Return the value of ours; raises `ValueError` or `KeyError` for what is invalid."""
        if not isinstance(stored, self.kind.types):
            raise ValueError
        return self.kind.read(stored) if self.kind.read else stored


def _columns(path: str = "", /, **kinds: Kind) -> tuple[Column, ...]:
    return tuple(Column(name, kind, f"{path}{name}") for name, kind in kinds.items())


class Reader:
    """Turns what a SELECT of *columns* gives, in their order, into values of ours.

    *noun* says in errors what they are columns of; "{}" in it stands for the first value.  Made once for
    each SELECT: indexes read millions of rows.
    """

    def __init__(self, noun: str, columns: Iterable[Column]) -> None:
        self.columns = tuple(columns)
        self._noun = noun
        self._types: tuple[Any, ...] = tuple(column.kind.types for column in self.columns)
        readers = enumerate(column.kind.read for column in self.columns)
        self._readers = [(place, read) for place, read in readers if read]

    def values(self, stored: Sequence[Any]) -> list[Any]:
        """Return the values; raises `Damaged` where one is invalid."""
        try:
            if all(map(isinstance, stored, self._types)):
                values = list(stored)
                for place, read in self._readers:
                    values[place] = read(values[place])
                return values
        except (KeyError, ValueError) as error:
            raise Damaged(self._fault(stored)) from error
        raise Damaged(self._fault(stored))

    def picker(self, cls: type, path: str = "") -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """Return what picks, of the values, the fields of *cls*, in their order.

        *path* leads to the object of *cls* and ends with a dot.
        """
        places = {column.field: place for place, column in enumerate(self.columns)}
        paths = (path + field.name for field in fields(cls))
        return itemgetter(*(places[path] for path in paths if path in places))

    def sql(self, table: str = "") -> str:
        """The columns as SELECT names them; *table* is in front and ends with a dot."""
        return ", ".join(table + column.name for column in self.columns)

    def _fault(self, stored: Sequence[Any]) -> str:
        noun = self._noun.format(stored[0])
        for value, column in zip(stored, self.columns, strict=True):
            try:
                column.read(value)
            except (KeyError, ValueError):
                shown = f"{len(value)} bytes" if isinstance(value, bytes) else f"{value!r:.{_SHOWN}}"
                return f"{noun} has an invalid {column.name}: {shown}"
        return noun


# Rows

_PRINT = "sighting.fingerprint."
_ID = Column("id", NUMBER, "id")
# Those of the table `pages`, but for `scope`, in their order.
_PAGES = (
    Column("run", NUMBER, "sighting.run"),
    *_columns("sighting.", url=TEXT, url_key=TEXT, time=TIME, title=TEXT),
    *_columns(_PRINT, content_simhash=SIMHASH, structure_simhash=SIMHASH, sketch=SKETCH),
    *_columns(_PRINT, body_digest=DIGEST, token_digest=DIGEST, tokens=COUNT),
    *_columns("verdict.", reason=REASON, kept=FLAG, content_distance=DISTANCE),
    *_columns("verdict.", structure_distance=DISTANCE, similarity=SIMILARITY),
    *_columns("verdict.", canonical=NUMBER.optional, previous=NUMBER.optional),
    *_columns("verdict.", replaces=NUMBER.optional, represents=NUMBER.optional),
    *_columns(outcome=OUTCOME, listed=FLAG),
    *_columns("sighting.", item_key=TEXT, redirects=URLS, seen_on=TEXT.optional, unjudged=TEXT),
    *_columns("sighting.", is_dry=FLAG),
    Column("is_elsewhere", STANDING, "verdict.standing"),
    *_columns(_PRINT, words=COUNT, shingles=COUNT, sample=SAMPLE, sentences=DIGEST),
    *_columns(_PRINT, inside=COUNT.optional, traits=SAMPLE),
    *_columns("verdict.", lost=COUNT.optional, missing=COUNT.optional),
    *_columns("verdict.", site_pages=COUNT.optional, finding=TEXT),
)
COLUMNS: Mapping[str, Column] = {column.name: column for column in (_ID, *_PAGES)}
"""The columns of a row by their names."""

# With the group, and with the URL and the run of the canonical.
_JOINED = (
    *_columns("sighting.", kind=TEXT, scope=TEXT),
    Column("id", NUMBER, "verdict.row"),
    Column("canonical's url", TEXT, "verdict.canonical_url"),
    Column("canonical's run", NUMBER.optional, "verdict.canonical_run"),
)
ROW = Reader("row {}", (_ID, *_PAGES, *_JOINED))
SELECT = (
    f"SELECT {Reader('', (_ID, *_PAGES)).sql('p.')}, s.kind, s.scope, p.id, coalesce(c.url, ''), c.run "
    "FROM pages p JOIN scopes s ON s.id = p.scope LEFT JOIN pages c ON c.id = p.canonical "
)
_row_of, _sighting_of = ROW.picker(Row), ROW.picker(Sighting, "sighting.")
_page_of, _verdict_of = ROW.picker(Fingerprint, _PRINT), ROW.picker(Verdict, "verdict.")


def row_of(stored: Sequence[Any]) -> Row:
    """Return the row behind what `SELECT` gave; raises `Damaged`."""
    values = ROW.values(stored)
    row, outcome, listed = _row_of(values)
    sighting = Sighting(Fingerprint(*_page_of(values)), *_sighting_of(values))
    verdict = Verdict(*_verdict_of(values))
    if verdict.standing:
        standing = Standing(verdict.canonical or 0, verdict.canonical_run or 0, is_elsewhere=True)
        verdict = replace(verdict, standing=standing)
    return Row(row, sighting, verdict, outcome, listed)


_NAMES = [column.name for column in _PAGES]
LISTED = _NAMES.index("listed")
"""Where `values_of` says whether the row is listed."""
INSERT = f"INSERT INTO pages (id, scope, {', '.join(_NAMES)}) VALUES (?,?{',?' * len(_NAMES)})"
_given = attrgetter(*(column.field for column in _PAGES))
_WRITERS = [(place, column.kind.write) for place, column in enumerate(_PAGES) if column.kind.write]


def values_of(row: Row) -> list[Any]:
    """Return what `INSERT` takes after the number of the row and that of its group."""
    values = list(_given(row))
    for place, write in _WRITERS:
        values[place] = write(values[place])
    return values


_OF_PRINT = tuple(column for column in _PAGES if column.field.startswith(_PRINT))
REPRINT = f"UPDATE pages SET {', '.join(f'{column.name} = ?' for column in _OF_PRINT)} WHERE id = ?"


def print_of(row: int, fingerprint: Fingerprint) -> list[Any]:
    """Return what `REPRINT` takes to give *row* another *fingerprint*."""
    found = [(column.kind.write, getattr(fingerprint, column.name)) for column in _OF_PRINT]
    return [*(write(value) if write else value for write, value in found), row]


# Parts of rows

_GLANCE = Reader("row {}", (COLUMNS[name] for name in Glance._fields))
SELECT_GLANCE = f"SELECT {_GLANCE.sql()} FROM pages WHERE id > ? "


def glance_of(stored: Sequence[Any]) -> Glance:
    """Return what `SELECT_GLANCE` gave; raises `Damaged`."""
    return Glance._make(_GLANCE.values(stored))


_OF_TEXT = ("id", "url", "seen_on", "run", "sample", "traits", "is_dry", "reason", "outcome", "kept")
_KEPT_TEXT = Reader(
    "row {}",
    (*(COLUMNS[name] for name in _OF_TEXT), Column("what it repeats", DIGEST), *_JOINED[:2]),
)
# No join: a plan made for few rows might read all of the other side.
SELECT_KEPT_TEXT = (
    f"SELECT p.{', p.'.join(_OF_TEXT)}, CASE WHEN p.kept THEN p.token_digest "
    "ELSE (SELECT c.token_digest FROM pages c WHERE c.id = p.canonical) END, s.kind, s.scope "
    "FROM pages p JOIN scopes s ON s.id = p.scope WHERE p.sample != x'' "
    "AND (p.kept OR (p.reason = 'near_duplicate' AND p.lost > 0)) "
)
"""Of the rows that tell something of their site: those that were kept, or lost a word."""


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


_OF_CANONICAL = ("id", "url", "run", "outcome", "represents", "seen_on")
_COMPARED = (field.name for field in fields(Fingerprint) if field.compare)
_CANONICAL = Reader("row {}", (COLUMNS[name] for name in (*_OF_CANONICAL, *_COMPARED)))
SELECT_CANONICAL = f"SELECT {_CANONICAL.sql()} FROM pages WHERE scope = ? AND listed "


def canonical_of(stored: Sequence[Any]) -> Canonical:
    """Return the canonical behind what `SELECT_CANONICAL` gave; raises `Damaged`."""
    row, url, run, outcome, represents, seen_on, *page = _CANONICAL.values(stored)
    host = host_of(url) if seen_on is None else seen_on
    is_pending = outcome is Outcome.PENDING
    return Canonical(row, url, run, is_pending, Fingerprint(*page), represents, host)


# Conditions on a row `p`.  Some say more than they need to, so that SQLite sees that a partial index has
# the rows; a sign in front of a column keeps it from an index that has too many.

OLDEST, NEWEST, LAST_RUN = "p.id", "p.id DESC", "p.run DESC, p.id DESC"
"""Orders of rows; of `LAST_RUN` the newest of equal ones comes first."""
# Not in the order of an index, until there are enough.
ANY_INDEX = "+"
STANDS = "p.outcome IN ('confirmed', 'orphaned', 'pending', 'restored')"
"""That a row was not taken back."""
RESTORED = "p.outcome != 'confirmed' AND p.outcome = 'restored'"
"""That somebody wants back what was dropped."""
MET_AGAIN = (
    "p.reason = 'unchanged' AND p.canonical = p.previous AND p.outcome IN ('confirmed', 'pending')"
)
"""See `Row.is_met_again`."""
OF_URL = "p.scope IN (SELECT id FROM scopes) AND p.url_key = ? AND p.url_key != ''"
"""That a row is of an address, in any group."""
AMONG = "IN (SELECT value FROM json_each(?))"


def numbers(values: Iterable[int]) -> str:
    """Return *values* as SQL takes them after ``IN``; for those that are the same page after page."""
    return f"({','.join(map(str, sorted(values))) or 'SELECT 0 WHERE FALSE'})"


def of_dry_runs(runs: Iterable[int], table: str = "p.") -> str:
    """Return the condition on rows of dry runs: that there are none, or only of these *runs*."""
    own = f" OR {table}run IN {numbers(runs)}" if runs else ""
    return f"(NOT {table}is_dry{own})"


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
            and seen.group == self.group
            and row.id not in self.without
            and (not seen.is_dry or seen.run in self.dry_runs)
        )


# What stands beside rows


class Note(NamedTuple):
    """A text that is kept under a name."""

    name: str
    value: str


class StoredPage(NamedTuple):
    """The page that a row was judged by, as `dedup.reading.page.pack` gives it."""

    row: int
    page: bytes


Record = Run | Visit | Withheld | Note | StoredPage


class Records(NamedTuple):
    """How records stand in a *table*: what is *selected* of them, in which *order*, what reads that.

    *put* stores what *values* gives; where there is one of that key, *renewed* says how it changes.
    """

    table: str
    selected: str
    order: str
    read: Callable[[Sequence[Any]], Any]
    put: str
    renewed: str
    values: Callable[[Any], Sequence[Any]]

    def statement(self, renew: bool) -> str:
        """Return the statement that stores a record; one that is there changes only if they *renew*."""
        return f"{self.put} DO {f'UPDATE SET {self.renewed}' if renew else 'NOTHING'}"


def _reads(cls: Callable[..., Any], noun: str, **kinds: Kind) -> Callable[[Sequence[Any]], Any]:
    reader = Reader(noun, _columns(**kinds))
    return lambda stored: cls(*reader.values(stored))


def _note_of(stored: Sequence[Any]) -> Note:
    if not all(isinstance(text, str) for text in stored):
        raise Damaged("a note is no text")
    return Note(*stored)


_RUN: dict[str, Kind] = {
    "spider": TEXT,
    "job": TEXT,
    "started": TIME,
    "ended": TIME.optional,
    "ending": TEXT,
    "action": TEXT,
    "crawl": TEXT,
    "began": NUMBER,
}
_of_run = attrgetter(*_RUN)


def _values_of_run(run: Run) -> tuple[Any, ...]:
    # One that was imported has no lock, others get theirs by a lease.
    return (run.id or None, *_of_run(run), "" if run.is_imported else "none yet")


RECORDS: Mapping[str, Records] = {
    "Run": Records(
        "runs",
        f"id, {', '.join(_RUN)}, lock = ''",
        "id",
        _reads(Run, "run {}", id=NUMBER, **_RUN, is_imported=FLAG),
        f"INSERT INTO runs (id, {', '.join(_RUN)}, lock) VALUES (?,?{',?' * len(_RUN)}) "
        "ON CONFLICT (id)",
        ", ".join(f"{name} = excluded.{name}" for name in _RUN),
        _values_of_run,
    ),
    "Visit": Records(
        "visits",
        "scope, host, run, after",
        "after, run, scope, host",
        _reads(Visit, "a visit", scope=TEXT, host=TEXT, run=NUMBER, after=NUMBER),
        "INSERT INTO visits (scope, host, run, after) VALUES (?,?,?,?) ON CONFLICT (scope, host, run)",
        "after = excluded.after",
        tuple,
    ),
    "Withheld": Records(
        "withheld",
        "row, url, what, request, run",
        "id",
        _reads(Withheld, "row {}", row=NUMBER, url=TEXT, what=TEXT, request=TEXT, run=NUMBER),
        "INSERT INTO withheld (run, row, url, url_key, what, request) VALUES (?,?,?,?,?,?) "
        "ON CONFLICT (run, what, url_key)",
        "row = excluded.row, url = excluded.url, request = excluded.request",
        attrgetter("run", "row", "url", "url_key", "what", "request"),
    ),
    "Note": Records(
        "meta",
        "name, value",
        "name",
        _note_of,
        "INSERT INTO meta VALUES (?,?) ON CONFLICT (name)",
        "value = excluded.value",
        tuple,
    ),
    "StoredPage": Records(
        "stored_pages",
        "row, CAST(page AS BLOB)",
        "row",
        StoredPage._make,
        "INSERT INTO stored_pages VALUES (?,?) ON CONFLICT (row)",
        "page = excluded.page",
        tuple,
    ),
}
