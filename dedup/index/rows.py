"""The tables of an index: what may stand in them, and how it becomes values of ours and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import compress
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple

from dedup.index.sqlite_file import Damaged
from dedup.model import verdict as model
from dedup.model.fingerprint import BINS, Fingerprint, Sighting
from dedup.model.hashes import DIGEST_SIZE, SIMHASH_BITS, murmur3, signed, unsigned
from dedup.model.urls import host_of
from dedup.model.verdict import Outcome, Reason, Row, Run, Standing, Visit
from dedup.prints.fingerprinter import SAMPLED_BYTES
from dedup.rule.match import MIN_EQUAL_TOKENS, MIN_SIMILARITY, told_by, told_by_copy

Group = tuple[str, str]  # a kind and a scope: pages are compared within one group only

# What may stand in a column


class Kind(NamedTuple):
    """Which *types* a stored value may have, its SQL, and what makes it a value of ours, or raises."""

    types: Any
    sql: str
    read: Callable[[Any], Any] | None = None

    @property
    def optional(self) -> Kind:
        """The same, or NULL for None."""
        return self._replace(types=(self.types, NoneType), sql=self.sql.removesuffix(" NOT NULL"))


def _where(is_valid: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value is None or is_valid(value):
            return value
        raise ValueError

    return read


_INTEGER, _TEXT, _REAL, _BLOB = (f"{name} NOT NULL" for name in ("INTEGER", "TEXT", "REAL", "BLOB"))
NUMBER, TEXT = Kind(int, _INTEGER), Kind(str, _TEXT)
OF_RUN, OF_PAGE = (Kind(int, f"INTEGER REFERENCES {table} NOT NULL") for table in ("runs", "pages"))
TIME = Kind(float, _REAL, _where(lambda time: model.EARLIEST <= time <= model.LATEST))
SIMILARITY = Kind(float, _REAL, _where(lambda share: 0 <= share <= 1)).optional
DISTANCE = Kind(int, _INTEGER, _where(range(SIMHASH_BITS + 1).__contains__)).optional
SIMHASH = Kind(int, _INTEGER, unsigned)
SKETCH = Kind(bytes, _BLOB, _where(lambda sketch: len(sketch) == BINS))
SAMPLE = Kind(bytes, _BLOB, _where(lambda sample: len(sample) % SAMPLED_BYTES == 0))
DIGEST = Kind(bytes, _BLOB, _where(lambda digest: len(digest) in (0, DIGEST_SIZE)))
URLS = Kind(str, _TEXT, lambda lines: tuple(lines.split("\n")) if lines else ())
FLAG = Kind(int, _INTEGER, {0: False, 1: True}.__getitem__)
REASON = Kind(str, _TEXT, {reason.value: reason for reason in Reason}.__getitem__)
OUTCOME = Kind(str, _TEXT, {outcome.value: outcome for outcome in Outcome}.__getitem__)

Columns = Mapping[str, Kind]


def _all(kind: Kind, names: str) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), kind)


class Reader:
    """What a SELECT of *columns* from *tables* gives, and is *made* of it; *noun* has the first one."""

    def __init__(self, noun: str, columns: Columns, tables: str, made: Callable[..., Any]) -> None:
        self._noun, self._made = noun, made
        self.select = f"SELECT {', '.join(columns)} FROM {tables} "
        self._types: tuple[Any, ...] = tuple(kind.types for kind in columns.values())
        self._readers = [(at, kind.read) for at, kind in enumerate(columns.values()) if kind.read]

    def read(self, stored: Sequence[Any]) -> Any:
        """Return what is made of what was selected; raises `Damaged` where a value is invalid."""
        values = list(stored)
        try:
            if all(map(isinstance, stored, self._types)):
                for place, read in self._readers:
                    values[place] = read(values[place])
                return self._made(*values)
        except (KeyError, ValueError):
            pass
        raise Damaged(f"{self._noun} {stored[0]!r:.40} has an invalid value")


# Rows: their columns in the order of the fields of our values

PRINT = (
    _all(SIMHASH, "content_simhash structure_simhash")
    | {"sketch": SKETCH}
    | _all(DIGEST, "body_digest token_digest")
    | _all(NUMBER, "tokens words shingles")
    | {"sample": SAMPLE, "sentences": DIGEST, "inside": NUMBER.optional, "traits": SAMPLE}
)
SIGHTING = (
    _all(TEXT, "url url_key s.kind s.scope")
    | {"run": OF_RUN, "time": TIME, "title": TEXT, "item_key": TEXT}
    | {"is_dry": FLAG, "redirects": URLS, "seen_on": TEXT.optional, "unjudged": TEXT}
)
# With the URL and the run of the canonical, and where a `Standing` is whether it is elsewhere.
VERDICT = (
    {"reason": REASON, "kept": FLAG}
    | _all(DISTANCE, "content_distance structure_distance")
    | {"similarity": SIMILARITY}
    | _all(NUMBER.optional, "lost missing")
    | {"finding": TEXT, "nearest": NUMBER.optional, "canonical": OF_PAGE.optional}
    | {"ifnull(c.url,'')": TEXT, "c.run": NUMBER.optional, "is_elsewhere": FLAG}
    | _all(OF_PAGE.optional, "previous replaces represents")
    | {"p.id AS row": NUMBER}
)
# What may be long comes last: what stands behind it is read more slowly.
PAGE = {"outcome": OUTCOME, "listed": FLAG} | VERDICT | SIGHTING | PRINT
"""The columns of a row but its number, and what is read of other tables with it."""
STORED = {name: kind for name, kind in PAGE.items() if "." not in name}  # of its own table


_SIGHTING_AT, _PRINT_AT = len(VERDICT), len(VERDICT) + len(SIGHTING)
_ELSEWHERE = list(VERDICT).index("is_elsewhere")


def _row(row: int, outcome: Outcome, listed: bool, *found: Any) -> Row:
    values = list(found)
    sighting = Sighting(Fingerprint(*values[_PRINT_AT:]), *values[_SIGHTING_AT:_PRINT_AT])
    canonical, _, run, is_elsewhere = values[_ELSEWHERE - 3 : _ELSEWHERE + 1]
    values[_ELSEWHERE] = Standing(canonical or 0, run or 0, is_elsewhere=True) if is_elsewhere else None
    return Row(row, sighting, model.Verdict(*values[:_SIGHTING_AT]), outcome, listed)


ROWS = Reader(
    "row",
    {"p.id": NUMBER} | {f"p.{name}" if name in STORED else name: kind for name, kind in PAGE.items()},
    "pages p JOIN scopes s ON s.id = p.scope LEFT JOIN pages c ON c.id = p.canonical",
    _row,
)
_OF_VERDICT = [name for name in VERDICT if name in STORED and name != "is_elsewhere"]
_OF_SIGHTING = [name for name in SIGHTING if name in STORED and name != "redirects"]
_given = attrgetter(
    *("outcome", "listed", *map("verdict.{}".format, _OF_VERDICT)),
    *map("sighting.{}".format, _OF_SIGHTING),
)
_COLUMNS = (*PRINT, "redirects", "is_elsewhere", "outcome", "listed", *_OF_VERDICT, *_OF_SIGHTING)
_FLAGS = [place for place, name in enumerate(_COLUMNS) if STORED[name] is FLAG]
_BITS = [1 << place for place in range(len(_COLUMNS))]
_of_print = attrgetter(*list(PRINT)[2:])
REPRINT = f"UPDATE pages SET {', '.join(f'{name} = ?' for name in PRINT)} WHERE id = ?"


def values_of(row: Row) -> list[Any]:
    """Return which columns *row* has, as bits, and then their values: None and flags bind slowly."""
    seen, standing = row.sighting, row.verdict.standing
    redirects = "\n".join(url.replace("\n", "%0A") for url in seen.redirects)
    is_elsewhere = standing is not None and standing.is_elsewhere
    values = [*print_of(seen.fingerprint), redirects, is_elsewhere, *_given(row)]
    for place in _FLAGS:
        values[place] = int(values[place])
    filled = [value is not None for value in values]
    return [sum(compress(_BITS, filled)), *compress(values, filled)]


@cache
def insert(filled: int) -> str:
    """Return what takes the number of a row, that of its group, and what `values_of` gives next."""
    names = [name for place, name in enumerate(_COLUMNS) if filled >> place & 1]
    return f"INSERT INTO pages (id, scope, {', '.join(names)}) VALUES (?, ?{', ?' * len(names)})"


def print_of(page: Fingerprint) -> list[Any]:
    """Return what `REPRINT` takes before the number of the row."""
    return [signed(page.content_simhash), signed(page.structure_simhash), *_of_print(page)]


# Parts of rows

_OF_GLANCE = STORED | {"id": NUMBER, "scope": NUMBER}
GLANCES = Reader("row", {name: _OF_GLANCE[name] for name in model.Glance._fields}, "pages", model.Glance)


def _kept_text(row: int, url: str, seen_on: str | None, run: int, *found: Any) -> model.KeptText:
    sample, traits, is_dry, reason, is_kept, repeated, kind, scope = found
    is_new = reason in (Reason.NEW, Reason.NEAR_DUPLICATE)
    told = told_by(sample, traits) if is_kept else told_by_copy(traits, repeated)
    of_page = (row, (kind, scope), host_of(url) if seen_on is None else seen_on, run, is_dry, is_new)
    return model.KeptText(*of_page, told, is_kept)


# No join: a plan made for few rows might read all of the other side.
_REPEATED = (
    "CASE WHEN p.kept THEN p.token_digest "
    "ELSE (SELECT c.token_digest FROM pages c WHERE c.id = p.canonical) END"
)
_OF_TEXT = "url", "seen_on", "run", "sample", "traits", "is_dry", "reason", "kept"
KEPT_TEXTS = Reader(
    "row",
    {"p.id": NUMBER}
    | {f"p.{name}": STORED[name] for name in _OF_TEXT}
    | {_REPEATED: DIGEST, "s.kind": TEXT, "s.scope": TEXT},
    "pages p JOIN scopes s ON s.id = p.scope",
    _kept_text,
)
TELLS_OF_SITE = (
    "p.outcome = 'confirmed' AND p.sample != x'' "
    "AND (p.kept OR (p.reason = 'near_duplicate' AND p.lost > 0))"
)
"""That a row was kept, or lost a word: such rows tell something of their site."""


# Conditions on a row `p`.  Some say more than they need to, so that SQLite sees that a partial index has
# the rows; a sign in front of a column keeps it from an index that has too many.

LAST_RUN = "p.run DESC, p.id DESC"
IN_FORCE = "p.outcome IN ('confirmed', 'orphaned', 'pending', 'restored')"  # it was not taken back
IS_PENDING = "p.outcome != 'confirmed' AND p.outcome = 'pending'"
IS_WANTED_BACK = "p.outcome != 'confirmed' AND p.outcome = 'restored'"  # somebody wants it back
IS_THERE = "p.outcome IN ('confirmed', 'pending')"
# Nothing else changes when such a row is confirmed.
LONE = f"p.replaces IS NULL AND NOT EXISTS (SELECT 1 FROM pages p WHERE {IS_WANTED_BACK})"
MET_AGAIN = f"p.reason = 'unchanged' AND p.canonical = p.previous AND {IS_THERE}"  # `Row.is_met_again`
OF_URL = (
    "p.id IN (SELECT o.id FROM pages o "
    "WHERE o.scope IN (SELECT id FROM scopes) AND o.url_key = ? AND o.url_key != '')"
)  # in any group
WAS_LISTED = "p.kept AND p.reason IN ('new', 'updated') AND p.outcome = 'confirmed'"
LISTED = "p.scope = :scope AND p.listed"
OF_TITLE = "substr(p.traits, 9, 4)"  # what `title_in` returns for the traits of a row
AMONG = "IN (SELECT value FROM json_each(?))"  # a list of numbers, as Python writes it, is JSON


def numbers(values: Iterable[int]) -> str:
    """Return *values* as SQL takes them after ``IN``; for those that are the same page after page."""
    return f"({','.join(map(str, sorted(values))) or 'SELECT 0 WHERE FALSE'})"


def of_dry_runs(runs: Iterable[int]) -> str:
    """Return the condition on rows of dry runs: that there are none, or only of these *runs*."""
    own = f" OR p.run IN {numbers(runs)}" if runs else ""
    return f"(NOT p.is_dry{own})"


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
        is_inside = row.listed and seen.group == self.group and row.id not in self.without
        return is_inside and (not seen.is_dry or seen.run in self.dry_runs)


# What tells whether two pages may have to be compared

_APART = 2  # so many bits differ in the codes of two bytes of sketches, or none: two bytes share each
_ROUNDING = 1e-6
_CODES = [bits * 64 for bits in (b"0011", b"0101", b"0110")]  # of each byte, by its last two bits


@lru_cache(maxsize=32)  # it is asked before a page is judged, and when it is claimed
def claim_keys(seen: Sighting) -> tuple[int, list[int | None], str, int]:
    """Return what tells whether *seen* may have to be compared with another page.

    That is its scope; its bytes, URL, key and text in this scope, None for what it has not; a code of
    three bits a byte of its sketch, and in how many bits at most that of a page like it differs.
    """
    page, scope = seen.fingerprint, f"{seen.kind} {seen.scope}"
    text = page.token_digest if page.tokens >= MIN_EQUAL_TOKENS else b""
    # Pages without bytes are equal in that.
    values = page.body_digest.hex() or " ", seen.url_key, seen.item_key, text.hex()
    keys = (f"{scope} {place} {value}" if value else "" for place, value in enumerate(values))
    # So many bins are filled in either of two pages that are alike, and a share that is no less is equal
    # in both.
    either = min(BINS, (BINS - page.sketch.count(0)) / MIN_SIMILARITY)
    return (
        signed(murmur3(scope)),
        [signed(murmur3(key)) if key else None for key in keys],
        b"".join(map(page.sketch.translate, _CODES)).decode(),
        _APART * int(either * (1 - MIN_SIMILARITY) + _ROUNDING),
    )


def apart(seen: Sequence[Sighting]) -> int:
    """Return how many of the first pages *seen* need not be compared with each other."""
    known: set[int | None] = set()
    codes: list[tuple[int, int]] = []
    for number, (scope, keys, code, unlike) in enumerate(map(claim_keys, seen)):
        own, bits = {*keys} - {None}, int(code, 2)
        if own & known or any(of == scope and (bits ^ it).bit_count() <= unlike for of, it in codes):
            return number
        known |= own
        codes.append((scope, bits))
    return len(seen)


# What stands beside rows


class Note(NamedTuple):
    """A text that is kept under a name."""

    name: str
    value: str


Record = Run | Visit | Note


class Records(Reader):
    """How records stand in a *table*, and in which *order*."""

    def __init__(
        self, noun: str, columns: Columns, table: str, made: Callable[..., Any], order: str
    ) -> None:
        super().__init__(noun, columns, table, made)
        self.table, self.order, self.values = table, order, attrgetter(*columns)
        marks = ", ".join("?" * len(columns))
        renewed = ", ".join(f"{name} = excluded.{name}" for name in columns)
        put = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO "
        self.put, self.put_new = f"{put}UPDATE SET {renewed}", f"{put}NOTHING"


RUN = (
    {"id": Kind(int, "INTEGER PRIMARY KEY"), "spider": TEXT, "job": TEXT, "started": TIME}
    | {"ended": TIME.optional, "ending": TEXT, "action": TEXT, "crawl": TEXT}
    | {"began": NUMBER, "is_imported": FLAG}
)
VISIT = {"scope": TEXT, "host": TEXT, "run": OF_RUN, "after": NUMBER}
NOTE = {"name": Kind(str, "TEXT PRIMARY KEY"), "value": TEXT}

RUNS = Records("run", RUN, "runs", Run, "id")
VISITS = Records("a visit under", VISIT, "visits", Visit, "after, run, scope, host")
RECORDS = {"Run": RUNS, "Visit": VISITS, "Note": Records("the note", NOTE, "meta", Note, "name")}

# The tables

SCHEMA_VERSION = 8


def _of(columns: Columns) -> str:
    return ", ".join(f"{name} {kind.sql}" for name, kind in columns.items())


_STATEMENTS = (
    f"CREATE TABLE meta ({_of(NOTE)}) WITHOUT ROWID",
    # The lock is the name of the file that the process of a run holds.
    f"CREATE TABLE runs ({_of(RUN)}, lock TEXT NOT NULL DEFAULT '')",
    "CREATE INDEX runs_by_crawl ON runs (crawl)",
    "CREATE TABLE scopes (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, scope TEXT NOT NULL, "
    "UNIQUE (kind, scope))",
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes, "
    f"{_of(STORED)})",
    "CREATE INDEX pages_by_url ON pages (scope, url_key, run) WHERE url_key != ''",
    "CREATE INDEX pages_by_key ON pages (scope, item_key, run) WHERE item_key != ''",
    # With the sketch, which rules out most rows that are found.
    "CREATE INDEX pages_by_content ON pages (scope, content_simhash, is_dry, run, sketch) WHERE listed",
    "CREATE INDEX pages_by_structure ON pages (scope, structure_simhash, id, is_dry, run) WHERE listed",
    "CREATE INDEX pages_by_body ON pages (scope, body_digest) WHERE listed",
    "CREATE INDEX pages_by_tokens ON pages (scope, token_digest) WHERE listed",
    "CREATE INDEX pages_by_title ON pages (scope, substr(traits, 9, 4)) WHERE listed",
    "CREATE INDEX pages_by_canonical ON pages (canonical) WHERE canonical IS NOT NULL",
    "CREATE INDEX pages_met ON pages (canonical, run) "
    "WHERE reason = 'unchanged' AND canonical = previous",
    "CREATE INDEX pages_represent ON pages (represents) WHERE represents IS NOT NULL",
    "CREATE INDEX pages_by_run ON pages (run)",
    "CREATE INDEX pages_elsewhere ON pages (run) WHERE is_elsewhere",
    "CREATE INDEX pages_by_outcome ON pages (outcome) WHERE outcome != 'confirmed'",
    # The rows that were listed or no longer, or given another fingerprint, in that order.
    "CREATE TABLE relisted (id INTEGER PRIMARY KEY, row INTEGER NOT NULL REFERENCES pages)",
    "CREATE TRIGGER relist AFTER UPDATE OF listed, sketch ON pages "
    "BEGIN INSERT INTO relisted (row) VALUES (new.id); END",
    "CREATE TABLE stored_pages (row INTEGER PRIMARY KEY REFERENCES pages, page BLOB NOT NULL)",
    f"CREATE TABLE visits ({_of(VISIT)}, PRIMARY KEY (scope, host, run)) WITHOUT ROWID",
)
SCHEMA = 0x64656475, SCHEMA_VERSION, _STATEMENTS  # "dedu" in ASCII
LARGE_INDEXES = {one.split()[2]: one for one in _STATEMENTS if one.startswith("CREATE INDEX pages_by_")}
"""The statements that make the indexes of many rows, by name."""
