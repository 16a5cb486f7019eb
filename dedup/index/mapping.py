"""How rows of the tables become values, checked, and how values become rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from operator import attrgetter, itemgetter
from typing import Any

from dedup.index.database_files import Damaged
from dedup.index.schema import DIGEST, NUMBER, PAGES, SCOPES, TEXT, Column
from dedup.rule.site import told_by, told_by_copy
from dedup.values.fingerprint import Fingerprint
from dedup.values.row import Glance, KeptText, Row
from dedup.values.sighting import Sighting
from dedup.values.urls import host_of
from dedup.values.verdict import Canonical, Outcome, Reason, Standing, Verdict

_SHOWN = 40

Picker = Callable[[Sequence[Any]], tuple[Any, ...]]


class Reader:
    """Turns what a SELECT of *columns* gives, in their order, into values of ours.

    *noun* says in errors what they are columns of; "{}" in it stands for the first value.  Made once for
    each SELECT: indexes read millions of rows.
    """

    def __init__(self, noun: str, columns: Iterable[Column]) -> None:
        self.columns = tuple(columns)
        self._noun = noun
        # The types of looked-up columns at the end are not checked: that takes as long as the look-up.
        self._types: tuple[Any, ...] = tuple(column.types for column in _but_looked_up(self.columns))
        readers = enumerate(column.reader for column in self.columns)
        self._readers = [(place, reader) for place, reader in readers if reader]

    def values(self, stored: Sequence[Any]) -> list[Any]:
        """Return the values; raises `Damaged` where one is invalid."""
        values = list(stored)
        if not all(map(isinstance, values, self._types)):
            raise Damaged(self._fault(stored))
        try:
            for place, read in self._readers:
                values[place] = read(values[place])
        except (KeyError, ValueError) as error:
            raise Damaged(self._fault(stored)) from error
        return values

    def picker(self, cls: type, path: str = "") -> Picker:
        """Return what picks, of the values, the fields of *cls*, in their order.

        *path* leads to the object of *cls* and ends with a dot.
        """
        places = {column.field: place for place, column in enumerate(self.columns)}
        paths = (path + field.name for field in fields(cls))
        return itemgetter(*(places[path] for path in paths if path in places))

    @property
    def sql(self) -> str:
        """The columns as SELECT names them."""
        return ", ".join(column.name for column in self.columns)

    def _fault(self, stored: Sequence[Any]) -> str:
        noun = self._noun.format(stored[0])
        for value, column in zip(stored, self.columns, strict=True):
            if not column.is_valid(value):
                shown = f"{len(value)} bytes" if isinstance(value, bytes) else f"{value!r:.{_SHOWN}}"
                return f"{noun} has an invalid {column.name}: {shown}"
        return noun


def _but_looked_up(columns: Sequence[Column]) -> Sequence[Column]:
    while columns and columns[-1].kind.values:
        columns = columns[:-1]
    return columns


# A row with its group, and with the URL and the run of its canonical.
_JOINED = (
    *((f"p.{column.name}", column) for column in PAGES.fields),
    *((f"s.{column.name}", column) for column in SCOPES.fields),
    ("p.id", Column("id", NUMBER, "verdict.row")),
    ("coalesce(c.url, '')", Column("canonical's url", TEXT, "verdict.canonical_url")),
    ("c.run", Column("canonical's run", NUMBER, "verdict.canonical_run", optional=True)),
)
SELECT = (
    f"SELECT {', '.join(sql for sql, _ in _JOINED)} "
    "FROM pages p JOIN scopes s ON s.id = p.scope LEFT JOIN pages c ON c.id = p.canonical "
)
_ROW = Reader("row {}", (column for _, column in _JOINED))
_row_of, _sighting_of = _ROW.picker(Row), _ROW.picker(Sighting, "sighting.")
_page_of, _verdict_of = (
    _ROW.picker(Fingerprint, "sighting.fingerprint."),
    _ROW.picker(Verdict, "verdict."),
)


def row_of(stored: Sequence[Any]) -> Row:
    """Return the row behind what `SELECT` gave; raises `Damaged`."""
    values = _ROW.values(stored)
    row, outcome, listed = _row_of(values)
    sighting = Sighting(Fingerprint(*_page_of(values)), *_sighting_of(values))
    verdict = Verdict(*_verdict_of(values))
    if verdict.standing:
        standing = Standing(verdict.canonical or 0, verdict.canonical_run or 0, is_elsewhere=True)
        verdict = replace(verdict, standing=standing)
    return Row(row, sighting, verdict, outcome, listed)


_OF_ROW = tuple(column for column in PAGES.fields if not column.is_primary)
_given = attrgetter(*(column.field for column in _OF_ROW))
_WRITERS = [(place, column.kind.write) for place, column in enumerate(_OF_ROW, 1) if column.kind.write]
INSERTED = ("scope", *(column.name for column in _OF_ROW))
"""The columns of a row that `values_of` gives, in their order."""
INSERT = PAGES.insert(("id", *INSERTED))


def values_of(row: Row, scope: int) -> list[Any]:
    """Return what `INSERT` takes after the number of the row; *scope* is that of its group."""
    values = [scope, *_given(row)]
    for place, write in _WRITERS:
        values[place] = write(values[place])
    return values


_OF_PRINT = tuple(column for column in _OF_ROW if column.field.startswith("sighting.fingerprint."))
REPRINT = f"UPDATE pages SET {', '.join(f'{column.name} = ?' for column in _OF_PRINT)} WHERE id = ?"


def print_of(row: int, fingerprint: Fingerprint) -> list[Any]:
    """Return what `REPRINT` takes to give *row* another *fingerprint*."""
    found = [(column.kind.write, getattr(fingerprint, column.name)) for column in _OF_PRINT]
    return [*(write(value) if write else value for write, value in found), row]


_GLANCE = Reader("row {}", PAGES.select(Glance._fields))
SELECT_GLANCE = f"SELECT {_GLANCE.sql} FROM pages WHERE id > ? "


def glance_of(stored: Sequence[Any]) -> Glance:
    """Return what `SELECT_GLANCE` gave; raises `Damaged`."""
    return Glance._make(_GLANCE.values(stored))


_KEPT_TEXT = Reader(
    "row {}",
    (
        *PAGES.select(
            ("id", "url", "seen_on", "run", "sample", "traits", "is_dry", "reason", "outcome", "kept")
        ),
        Column("what it repeats", DIGEST, default=b""),
        *SCOPES.select(("kind", "scope")),
    ),
)
# No join: a plan made for few rows might read all of the other side.
_REPEATED = (
    "CASE WHEN p.kept THEN p.token_digest "
    "ELSE (SELECT c.token_digest FROM pages c WHERE c.id = p.canonical) END"
)
SELECT_KEPT_TEXT = (
    "SELECT p.id, p.url, p.seen_on, p.run, p.sample, p.traits, p.is_dry, p.reason, p.outcome, p.kept, "
    f"{_REPEATED}, s.kind, s.scope "
    "FROM pages p JOIN scopes s ON s.id = p.scope "
)
TELLS_OF_SITE = f"(p.kept OR (p.reason = '{Reason.NEAR_DUPLICATE}' AND p.lost > 0))"
"""The condition that a row tells something of its site: it was kept, or lost a word."""


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


_PAGE = PAGES.select(field.name for field in fields(Fingerprint) if field.compare)
_CANONICAL = Reader(
    "row {}", (*PAGES.select(("id", "url", "run", "outcome", "represents", "seen_on")), *_PAGE)
)
SELECT_CANONICAL = f"SELECT {_CANONICAL.sql} FROM pages WHERE scope = ? AND listed "


def canonical_of(stored: Sequence[Any]) -> Canonical:
    """Return the canonical behind what `SELECT_CANONICAL` gave; raises `Damaged`."""
    row, url, run, outcome, represents, seen_on, *page = _CANONICAL.values(stored)
    host = host_of(url) if seen_on is None else seen_on
    is_pending = outcome is Outcome.PENDING
    return Canonical(row, url, run, is_pending, Fingerprint(*page), represents, host)
