"""The tables of an index, column by column: the one place that knows what stands in them.

A column says which values are valid, in SQL and in Python, and what they stand for.  The SQL, the
checks of `dedup check` and the readers of `dedup.index.rows` follow from `PAGES` and its like.  A
new column is a line there, and a field of the value that it belongs to.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_hex
from types import NoneType
from typing import Any

from dedup.algorithms.sketch import BINS
from dedup.index import postings
from dedup.recipes.sample import SAMPLED_BYTES
from dedup.values.hashes import DIGEST_SIZE, SIMHASH_BITS, signed, unsigned
from dedup.values.row import EARLIEST, LATEST
from dedup.values.verdict import Outcome, Reason, Standing

_TYPES: Mapping[str, type] = {"INTEGER": int, "TEXT": str, "REAL": float, "BLOB": bytes}
_LARGEST = 2**63 - 1
_REQUIRED = object()

# Makes a value of ours of a stored one, or the other way round.
Converter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnKind:
    """What may stand in a column, and how it becomes a value of ours.

    *sql* is its type.  A stored value may have to be *within* two limits (inclusive), to have one of
    some *sizes* in bytes, or a multiple of a *unit* of bytes, or to be a key of *values*, which says
    what it stands for.  Otherwise *read* makes a value of ours of it.  *write* makes what is stored
    of such a value.
    """

    sql: str
    within: tuple[float, float] | None = None
    sizes: tuple[int, ...] = ()
    unit: int = 0
    values: Mapping[Any, Any] | None = None
    read: Converter | None = None
    write: Converter | None = None

    def condition(self, column: str) -> str:
        """Return the SQL condition that *column* has a valid value."""
        found = f"typeof({column}) = '{self.sql.lower()}'"
        if self.within:
            return f"{found} AND {column} BETWEEN {self.within[0]} AND {self.within[1]}"
        if self.sizes:
            return f"{found} AND length({column}) IN {_listed(self.sizes)}"
        if self.unit:
            return f"{found} AND length({column}) % {self.unit} = 0"
        return f"{found} AND {column} IN {_listed(self.values)}" if self.values else found


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    *field* is the path of attributes to its value: in a `Row` for columns of pages, in a `Run` for
    those of runs, "" for none.  An *optional* column may be NULL, for None.  *default* is the value
    where none is given.
    """

    name: str
    kind: ColumnKind
    field: str = ""
    optional: bool = False
    default: Any = _REQUIRED
    constraint: str = ""

    @property
    def is_primary(self) -> bool:
        """Whether it is declared as the primary key."""
        return self.constraint.startswith("PRIMARY KEY")

    @property
    def types(self) -> type | tuple[type, ...]:
        """What type a stored value may have, as `isinstance` takes it."""
        found = _TYPES[self.kind.sql]
        return (found, NoneType) if self.optional else found

    @property
    def declaration(self) -> str:
        """The column in `CREATE TABLE`."""
        parts = [self.name, self.kind.sql]
        if not (self.optional or self.is_primary):
            parts.append("NOT NULL")
        if self.default is not _REQUIRED:
            stored = self.kind.write(self.default) if self.kind.write else self.default
            parts.append(f"DEFAULT {_literal(stored)}")
        return " ".join((*parts, self.constraint)).strip()

    @property
    def condition(self) -> str:
        """The SQL condition that it has a valid value."""
        found = self.kind.condition(self.name)
        return f"({self.name} IS NULL OR {found})" if self.optional else f"({found})"

    @property
    def reader(self) -> Converter | None:
        """What makes a value of ours of a stored one of a right type; None if it is one already.

        It raises KeyError or ValueError for an invalid one.
        """
        kind = self.kind
        if kind.values:
            return ({None: None} | dict(kind.values) if self.optional else kind.values).__getitem__
        if kind.within:
            return _in_range(*kind.within)
        if kind.unit:
            return _in_units(kind.unit)
        return _of_size(kind.sizes) if kind.sizes else kind.read

    def is_valid(self, stored: object) -> bool:
        """Whether *stored* is a valid value: what `condition` says, in Python."""
        if not isinstance(stored, self.types):
            return False
        with suppress(KeyError, ValueError):
            if self.reader:
                self.reader(stored)
            return True
        return False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its *columns*, the *key* that no two rows share, and *options* of `CREATE TABLE`.

    Without a *key*, the column that is declared as the primary key is the key.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    options: str = ""

    @property
    def primary(self) -> tuple[str, ...]:
        """The column that is declared as the primary key, if one is."""
        return tuple(column.name for column in self.columns if column.is_primary)

    @property
    def create(self) -> str:
        """The statement that makes it."""
        parts = [column.declaration for column in self.columns]
        if self.key:
            parts.append(f"{'UNIQUE' if self.primary else 'PRIMARY KEY'} ({', '.join(self.key)})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)}) {self.options}".strip()

    @property
    def count_invalid(self) -> str:
        """The statement that counts the rows with an invalid value, and gives the first id, or run."""
        number = "id" if self.primary else "run"
        valid = " AND ".join(column.condition for column in self.columns)
        return f"SELECT count(*), min({number}) FROM {self.name} WHERE NOT ({valid})"

    def insert(self, names: Collection[str]) -> str:
        """Return the statement that adds a row with values of the columns *names*, in their order."""
        marks = ",".join("?" * len(names))
        return f"INSERT INTO {self.name} ({', '.join(names)}) VALUES ({marks})"

    def put(self, names: Collection[str], *, renew: bool) -> str:
        """Return `insert`; a row that has the key already is changed if they *renew*, and else stays."""
        key = self.key or self.primary
        changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
        does = f"UPDATE SET {changes}" if renew else "NOTHING"
        return f"{self.insert(names)} ON CONFLICT ({', '.join(key)}) DO {does}"

    def select(self, names: Iterable[str]) -> tuple[Column, ...]:
        """Return the columns *names*, in their order."""
        found = {column.name: column for column in self.columns}
        return tuple(found[name] for name in names)

    @property
    def fields(self) -> tuple[Column, ...]:
        """The columns that are fields of a value of ours."""
        return tuple(column for column in self.columns if column.field)


def _in_range(low: float, high: float) -> Converter:
    def read(value: float | None) -> float | None:
        if value is None or low <= value <= high:
            return value
        raise ValueError

    return read


def _of_size(sizes: tuple[int, ...]) -> Converter:
    def read(value: bytes) -> bytes:
        if len(value) in sizes:
            return value
        raise ValueError

    return read


def _in_units(unit: int) -> Converter:
    def read(value: bytes) -> bytes:
        if len(value) % unit:
            raise ValueError
        return value

    return read


def _literal(value: object) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return repr(str(value)) if isinstance(value, str) else str(int(value))  # type: ignore[call-overload]


def _listed(values: Iterable[object]) -> str:
    return f"({', '.join(map(_literal, values))})"


def _lines(urls: Iterable[str]) -> str:
    return "\n".join(url.replace("\n", "%0A") for url in urls)


def _urls(lines: str) -> tuple[str, ...]:
    return tuple(lines.split("\n")) if lines else ()


def _is_elsewhere(standing: Standing | None) -> bool:
    return standing is not None and standing.is_elsewhere


NUMBER = ColumnKind("INTEGER")
COUNT = ColumnKind("INTEGER", within=(0, _LARGEST))
RUN = ColumnKind("INTEGER")
ROW = ColumnKind("INTEGER")
TEXT = ColumnKind("TEXT")
BYTES = ColumnKind("BLOB")
TIME = ColumnKind("REAL", within=(EARLIEST, LATEST))
SIMILARITY = ColumnKind("REAL", within=(0, 1))
# Looking a distance up is faster than comparing it twice.
_DISTANCES = {bits: bits for bits in range(SIMHASH_BITS + 1)}
DISTANCE = ColumnKind("INTEGER", within=(0, SIMHASH_BITS), values=_DISTANCES)
SIMHASH = ColumnKind("INTEGER", read=unsigned, write=signed)
SKETCH = ColumnKind("BLOB", sizes=(BINS,))
SAMPLE = ColumnKind("BLOB", unit=SAMPLED_BYTES)
DIGEST = ColumnKind("BLOB", sizes=(0, DIGEST_SIZE))
URLS = ColumnKind("TEXT", read=_urls, write=_lines)
FLAG = ColumnKind("INTEGER", values={0: False, 1: True})
REASON = ColumnKind("TEXT", values={reason.value: reason for reason in Reason})
OUTCOME = ColumnKind("TEXT", values={outcome.value: outcome for outcome in Outcome})
# `canonical` and its run say which row and run it is of.
ELSEWHERE = Standing(0, 0, is_elsewhere=True)
STANDING = ColumnKind("INTEGER", values={0: None, 1: ELSEWHERE}, write=_is_elsewhere)

# "dedu" in ASCII: tells an index from any other SQLite file.
APPLICATION_ID = 0x64656475
SCHEMA_VERSION = 1
ID_SIZE = 16

ID = Column("id", NUMBER, "id", constraint="PRIMARY KEY")
_OF_RUN = Column("run", RUN, "run", constraint="REFERENCES runs")
_OF_ROW = Column("row", ROW, "row", constraint="REFERENCES pages")


def _of_page(name: str, kind: ColumnKind, **more: Any) -> Column:
    return Column(name, kind, f"sighting.fingerprint.{name}", **more)


def _of_sighting(name: str, kind: ColumnKind, **more: Any) -> Column:
    return Column(name, kind, f"sighting.{name}", **more)


def _of_verdict(name: str, kind: ColumnKind, **more: Any) -> Column:
    return Column(name, kind, f"verdict.{name}", **more)


def _reference(name: str) -> Column:
    return _of_verdict(name, ROW, optional=True, constraint="REFERENCES pages")


PAGES = Table(
    "pages",
    (
        ID,
        replace(_OF_RUN, field="sighting.run"),
        Column("scope", NUMBER, constraint="REFERENCES scopes"),
        _of_sighting("url", TEXT),
        Column("url_key", TEXT, "sighting.url_key"),
        _of_sighting("time", TIME),
        _of_sighting("title", TEXT),
        _of_sighting("canonical_link", TEXT),
        _of_page("content_simhash", SIMHASH),
        _of_page("structure_simhash", SIMHASH),
        _of_page("sketch", SKETCH),
        _of_page("body_digest", DIGEST),
        _of_page("token_digest", DIGEST),
        _of_page("tokens", COUNT),
        _of_verdict("reason", REASON),
        _of_verdict("kept", FLAG),
        _of_verdict("content_distance", DISTANCE, optional=True),
        _of_verdict("structure_distance", DISTANCE, optional=True),
        _of_verdict("similarity", SIMILARITY, optional=True),
        _reference("canonical"),
        _reference("previous"),
        _reference("replaces"),
        _reference("represents"),
        Column("outcome", OUTCOME, "outcome"),
        Column("listed", FLAG, "listed"),
        _of_sighting("item_key", TEXT, default=""),
        _of_sighting("redirects", URLS, default=()),
        _of_sighting("seen_on", TEXT, optional=True),
        _of_sighting("unjudged", TEXT, default=""),
        Column("is_dry", FLAG, "sighting.is_dry", default=False),
        Column("is_elsewhere", STANDING, "verdict.standing", default=None),
        _of_page("words", COUNT, default=0),
        _of_page("shingles", COUNT, default=0),
        _of_page("sample", SAMPLE, default=b""),
        _of_page("sentences", DIGEST, default=b""),
        _of_page("inside", COUNT, optional=True),
        _of_page("traits", SAMPLE, default=b""),
        _of_verdict("lost", COUNT, optional=True),
        _of_verdict("missing", COUNT, optional=True),
        _of_verdict("own", SIMILARITY, optional=True),
        _of_verdict("site_pages", COUNT, optional=True),
        _of_verdict("finding", TEXT, default=""),
    ),
)
# A page is compared with those of its group only.
SCOPES = Table(
    "scopes",
    (replace(ID, field=""), _of_sighting("kind", TEXT), _of_sighting("scope", TEXT)),
    ("kind", "scope"),
)
RUNS = Table(
    "runs",
    (
        ID,
        Column("spider", TEXT, "spider"),
        Column("job", TEXT, "job"),
        Column("settings", TEXT, "settings"),
        # The name of the lock file that its process holds.
        Column("lock", TEXT),
        Column("started", TIME, "started"),
        Column("ended", TIME, "ended", optional=True),
        Column("ending", TEXT, "ending", default=""),
        Column("action", TEXT, "action", default="drop"),
        Column("crawl", TEXT, "crawl", default=""),
        Column("began", NUMBER, "began", default=0),
    ),
)
# The page that a row was judged by.
STORED_PAGES = Table(
    "stored_pages",
    (replace(_OF_ROW, constraint="PRIMARY KEY REFERENCES pages"), Column("page", BYTES, "page")),
)
# Which hosts a run has been on; *after* is the last row that there was before.
VISITS = Table(
    "visits",
    (
        Column("scope", TEXT, "scope"),
        Column("host", TEXT, "host"),
        _OF_RUN,
        Column("after", NUMBER, "after"),
    ),
    ("scope", "host", "run"),
    "WITHOUT ROWID",
)
# What was not requested because of a copy, the page of *row*: its own request, where a callback was
# skipped, or one that it links to.
WITHHELD = Table(
    "withheld",
    (
        replace(ID, field=""),
        _OF_RUN,
        _OF_ROW,
        *(Column(name, TEXT, name) for name in ("url", "url_key", "what", "request")),
    ),
    ("run", "what", "url_key"),
)
# What the file knows about itself; every schema has this table.
META = Table(
    "meta",
    (Column("name", TEXT, "name", constraint="PRIMARY KEY"), Column("value", TEXT, "value")),
    options="WITHOUT ROWID",
)

SCHEMA = (
    META.create,
    RUNS.create,
    SCOPES.create,
    PAGES.create,
    "CREATE INDEX pages_by_url ON pages (scope, url_key, run) WHERE url_key != ''",
    "CREATE INDEX pages_by_content ON pages (scope, content_simhash) WHERE listed",
    "CREATE INDEX pages_by_structure ON pages (scope, structure_simhash) WHERE listed",
    "CREATE INDEX pages_by_body ON pages (scope, body_digest) WHERE listed",
    "CREATE INDEX pages_by_tokens ON pages (scope, token_digest) WHERE listed",
    "CREATE INDEX pages_by_canonical ON pages (canonical) WHERE canonical IS NOT NULL",
    "CREATE INDEX pages_by_run ON pages (run)",
    "CREATE INDEX pages_unsettled ON pages (outcome) WHERE outcome != 'confirmed'",
    postings.SCHEMA,
    STORED_PAGES.create,
    VISITS.create,
    WITHHELD.create,
    "CREATE INDEX pages_by_key ON pages (scope, item_key, run) WHERE item_key != ''",
    "CREATE INDEX pages_met ON pages (canonical, run) "
    "WHERE reason = 'unchanged' AND canonical = previous",
    "CREATE INDEX pages_represent ON pages (represents) WHERE represents IS NOT NULL",
    "CREATE INDEX pages_elsewhere ON pages (run) WHERE is_elsewhere",
)

INVALID = {
    "rows": PAGES.count_invalid,
    "runs": RUNS.count_invalid,
    "scopes": SCOPES.count_invalid,
    "visits": VISITS.count_invalid,
    "withheld": WITHHELD.count_invalid,
}
"""Statements that count those with invalid values and give the first one; of visits, its run."""


def create_tables(connection: sqlite3.Connection, blocks: int) -> None:
    """Make the tables of an index whose posting lists have that many blocks."""
    postings.layout(blocks)  # refuses wrong numbers
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('blocks', ?)", (str(blocks),))
    connection.execute("INSERT INTO meta VALUES ('id', ?)", (token_hex(ID_SIZE),))
