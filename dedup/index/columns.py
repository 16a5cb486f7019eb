"""Columns of tables: which values are valid, in SQL and in Python, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import NoneType
from typing import Any

from dedup.recipes.sample import SAMPLED_BYTES
from dedup.recipes.sketch import BINS, CHECK_BINS
from dedup.values.hashes import DIGEST_SIZE
from dedup.values.run import EARLIEST, LATEST
from dedup.values.simhashes import SIMHASH_BITS, signed, unsigned
from dedup.values.verdict import Outcome, Reason, Standing

_TYPES: Mapping[str, type] = {"INTEGER": int, "TEXT": str, "REAL": float, "BLOB": bytes}
_LARGEST = 2**63 - 1
_REQUIRED = object()

# Makes a value of ours of a stored one, or the other way round.
Converter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
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
    those of runs.  *export* is its key in a file of `dedup export`.  Either is "" for none.  An
    *optional* column may be NULL, for None.  *default* is the value in rows of schemas, and files,
    that are older than the column.
    """

    name: str
    kind: Kind
    field: str = ""
    export: str = ""
    optional: bool = False
    default: Any = _REQUIRED
    constraint: str = ""

    @property
    def is_required(self) -> bool:
        """Whether it may not be NULL and has no default."""
        return not self.optional and self.default is _REQUIRED

    @property
    def absent(self) -> Any:
        """The value of a column that is not required, where it is missing."""
        return None if self.optional else self.default

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
    def held(self) -> tuple[Column, ...]:
        """The columns that are fields of a value of ours."""
        return tuple(column for column in self.columns if column.field)

    @property
    def exported(self) -> tuple[Column, ...]:
        """The columns that an export has."""
        return tuple(column for column in self.columns if column.export)


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


NUMBER = Kind("INTEGER")
COUNT = Kind("INTEGER", within=(0, _LARGEST))
RUN = Kind("INTEGER")
ROW = Kind("INTEGER")
TEXT = Kind("TEXT")
BYTES = Kind("BLOB")
TIME = Kind("REAL", within=(EARLIEST, LATEST))
SIMILARITY = Kind("REAL", within=(0, 1))
# Looking a distance up is faster than comparing it twice.
_DISTANCES = {bits: bits for bits in range(SIMHASH_BITS + 1)}
DISTANCE = Kind("INTEGER", within=(0, SIMHASH_BITS), values=_DISTANCES)
SIMHASH = Kind("INTEGER", read=unsigned, write=signed)
SKETCH = Kind("BLOB", sizes=(BINS,))
CHECK_SKETCH = Kind("BLOB", sizes=(0, CHECK_BINS))
SAMPLE = Kind("BLOB", unit=SAMPLED_BYTES)
DIGEST = Kind("BLOB", sizes=(0, DIGEST_SIZE))
URLS = Kind("TEXT", read=_urls, write=_lines)
FLAG = Kind("INTEGER", values={0: False, 1: True})
REASON = Kind("TEXT", values={reason.value: reason for reason in Reason})
OUTCOME = Kind("TEXT", values={outcome.value: outcome for outcome in Outcome})
# `canonical` and its run say which row and run it is of.
ELSEWHERE = Standing(0, 0, is_elsewhere=True)
STANDING = Kind("INTEGER", values={0: None, 1: ELSEWHERE}, write=_is_elsewhere)
