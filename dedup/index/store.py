"""The store of an index in one SQLite file, which several processes of one host may share."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from glob import escape
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from dedup.index import rows as tables
from dedup.index.rows import AMONG, OLDEST, Group, Note, Pool, Record
from dedup.index.search import Lists, Search, as_json
from dedup.index.sqlite_file import BUSY_TIMEOUT, Damaged, SQLiteFile
from dedup.model.errors import IndexUnavailable
from dedup.model.fingerprint import Fingerprint, Sighting
from dedup.model.hashes import unsigned
from dedup.model.row import Glance, KeptText, NoSuchRow, Row, Run, Statistics, Visit, Withheld
from dedup.model.verdict import Candidates, Outcome
from dedup.prints.config import DedupConfig
from dedup.reading.page import is_readable

AnyRecord = TypeVar("AnyRecord", Run, Visit, Withheld, Note)

_BATCH, _GLANCES = 500, 10_000
# How many URLs before and after another one are looked at for one that may be meant.
_AROUND = 100


class Store(SQLiteFile):
    """The rows, records and lists of an index in a file, as `SQLiteIndex`, or in memory.

    Row numbers rise with time; only `Row.outcome`, `Row.listed` and the fingerprint ever change.  What
    is done in one `transaction` is done as a whole or not at all.
    """

    undone = 0
    """How many transactions were undone: what was read in them must not be remembered."""

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        timeout: float = BUSY_TIMEOUT,
        create: bool = True,
        read_only: bool = False,
    ) -> None:
        self._scopes: dict[Group, int] = {}
        self._changes: int | None = None
        self.began, self.ended = SQLiteFile.began, SQLiteFile.ended  # a replica may be opened again
        super().__init__(
            path,
            application_id=tables.APPLICATION_ID,
            version=tables.SCHEMA_VERSION,
            schema=tables.SCHEMA,
            timeout=timeout,
            must_exist=not create,
            read_only=read_only,
        )
        self._lists = Lists(self.connection)
        self.leases = Leases(self)
        self.began, self.ended = self._look_around, self._end
        try:
            with self.errors():
                self._look_around()
        except BaseException:
            super().close()
            raise

    # Transactions

    def transaction(
        self,
        *,
        writing: bool,
        beside: bool = False,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """See one state, or change it as a whole; *beside* others what changes no verdict of theirs."""
        return self.writing() if writing else self.reading()

    def _end(self, is_undone: bool) -> None:
        self.leases.settle(undone=is_undone)
        if is_undone:  # it may have looked up what was undone
            self._scopes.clear()
            self._lists.clear()
            self.undone += 1
            self._changes = None

    def _look_around(self) -> None:
        changes = self.changes()
        if changes != self._changes:
            self._lists.look_around()
            self._changes = changes

    @property
    def is_shared(self) -> bool:
        """Whether others may add while this one searches, so that a verdict has to be claimed."""
        return False

    def position(self) -> Hashable:
        """Return up to where a shared store has seen what others have added."""

    def apart(self, seen: Sequence[Sighting]) -> int:  # noqa: ARG002
        """Return how many of the first pages *seen* can be judged without each other."""
        return 1

    def claim(self, rows: Sequence[Row], seen: Hashable, pages: Sequence[bytes]) -> list[Row]:
        """Add the first of *rows* to which nothing matters that was added and *seen* does not tell of.

        Raises `RunEnded` if others have ended their run.
        """
        raise NotImplementedError

    def together(self) -> AbstractContextManager[None]:
        """Wait for the disk once, at the end, for all that is claimed inside."""
        return nullcontext()

    # Changes

    def add(self, row: Row, page: bytes = b"") -> Row:
        """Add *row*, and its *page* unless that is b""; return it with its number, the highest yet."""
        number = self._insert(None, row.sighting.group, tables.values_of(row))
        if page:
            self.keep_page(number, page)
        return Row(number, row.sighting, row.verdict, row.outcome, row.listed)

    def _insert(self, number: int | None, group: Group, values: Sequence[Any]) -> int:
        """Add a row under a *number*, or under the next one."""
        scope = self.scope(group, create=True)
        self._lists.is_behind = True
        found = self.connection.execute(tables.INSERT, (number, scope, *values)).lastrowid
        assert found is not None
        return found

    def settle(self, outcome: Outcome, where: str, *values: Any, was: Outcome | None = None) -> int:
        """Give rows, those of `rows`, an *outcome* if it *was* another one; return how many."""
        text = f"UPDATE pages AS p SET outcome = ? WHERE {where}{if_it_was(was)}"
        return self.connection.execute(text, (outcome, *values)).rowcount

    def set_listed(self, row: Row, *, listed: bool) -> None:
        """Let others be compared with *row*, or no longer."""
        self._change("list", row.id, listed)

    def reprint(self, row: int, fingerprint: Fingerprint) -> None:
        """Give *row* another *fingerprint*, of the same bytes."""
        self._change("reprint", [*tables.print_of(fingerprint), row])

    def put(self, *records: Record, renew: bool = True) -> None:
        """Store records; one with the key of a stored one takes its place only if they *renew*."""
        for record in records:
            kind = type(record).__name__
            self._change("put", kind, tables.RECORDS[kind].values(record), renew)

    def add_run(self, run: Run) -> Run:
        """Store a new run; return it with the number that the store gives it, the highest so far."""
        ((last,),) = self.fetch("SELECT ifnull(max(id), 0) FROM runs")
        self.put(run := replace(run, id=last + 1))
        return run

    def delete(self, kind: type[AnyRecord], **fields: Any) -> None:
        """Remove the records that `select` would return."""
        self._change("delete", kind.__name__, fields)

    def _change(self, name: str, *given: Any) -> Any:
        """Make the change *name*; what is *given* can be written as JSON, and repeated elsewhere."""
        return getattr(self, f"_do_{name}")(*given)

    def _do_list(self, number: int, listed: bool) -> None:
        self.connection.execute("UPDATE pages SET listed = ? WHERE id = ?", (listed, number))
        if listed:
            self._lists.note_relisted(number)
        else:
            self._lists.gone.add(number)

    def _do_reprint(self, values: Sequence[Any]) -> None:
        self.connection.execute(tables.REPRINT, values)
        self._lists.note_relisted(values[-1])

    def _do_put(self, kind: str, values: Sequence[Any], renew: bool) -> None:
        self.connection.execute(tables.RECORDS[kind].put(renew=renew), values)

    def _do_delete(self, kind: str, fields: dict[str, Any]) -> None:
        where, values = _conditions(fields)
        self.connection.execute(f"DELETE FROM {tables.RECORDS[kind].table}{where}", values)

    # Rows

    def rows(
        self, where: str = "TRUE", *values: Any, order: str = OLDEST, limit: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows `p` where that SQL condition holds; all that are oldest first, in batches."""
        is_whole = limit is not None or not order.endswith(OLDEST)
        found = self._select(where, values, order, limit if is_whole else _BATCH)
        yield from found
        while not is_whole and len(found) == _BATCH:
            found = self._select(f"{where} AND p.id > ?", (*values, found[-1].id), order, _BATCH)
            yield from found

    def _select(
        self, where: str, values: Sequence[Any], order: str = OLDEST, limit: int | None = None
    ) -> list[Row]:
        text = f"{tables.SELECT}WHERE {where} ORDER BY {order} LIMIT ?"
        return self._all(tables.row_of, text, (*values, -1 if limit is None else limit))

    def rows_of(self, numbers: Sequence[int]) -> list[Row]:
        """Return the rows of those numbers that there are, in their order."""
        return self._select(f"p.id {AMONG}", (json.dumps(numbers),))

    def row(self, number: int) -> Row:
        """Return the row of that number; raises `NoSuchRow`."""
        for row in self._select("p.id = ?", (number,)):
            return row
        raise NoSuchRow(f"there is no row {number} in {self.name}")

    def scope(self, group: Group, *, create: bool = False) -> int:
        """Return the number of a group, 0 if there is none yet."""
        if group in self._scopes:
            return self._scopes[group]
        found = self.fetch("SELECT id FROM scopes WHERE kind = ? AND scope = ?", group)
        if found and not create:  # what this transaction made may be undone
            self._scopes[group] = found[0][0]
        if create and not found:
            insert = "INSERT INTO scopes (kind, scope) VALUES (?, ?) RETURNING id"
            found = self.connection.execute(insert, group).fetchall()
        return int(found[0][0]) if found else 0

    def candidates(self, page: Fingerprint, pool: Pool, config: DedupConfig) -> Iterator[Candidates]:
        """Yield what in *pool* may repeat *page*, by `nearness`, found only when asked for."""
        return Search(self._lists, page, pool, config, scope=self.scope(pool.group)).batches()

    # What would otherwise mean reading a million rows

    def last(self) -> int:
        """Return the highest number of a row, 0 if there is none."""
        ((row,),) = self.fetch("SELECT coalesce(max(id), 0) FROM pages")
        return int(row)

    def glances(self, after: int = 0) -> Iterator[Glance]:
        """Yield glances of the rows above number *after*, in batches like `rows`."""
        text = f"{tables.SELECT_GLANCE}ORDER BY id LIMIT {_GLANCES}"
        while found := self._all(tables.glance_of, text, (after,)):
            yield from found
            after = found[-1].id

    def kept_texts(self, after: int, rows: Collection[int] | None = None) -> Iterator[KeptText]:
        """Yield the `KeptText` of all *after* a row, or of those of *rows* that are pending no more.

        Only of those that tell something of their site.
        """
        values: tuple[int | str] = (after,)
        which = "p.id > ?"
        if rows is not None:
            values, which = (json.dumps(list(rows)),), f"p.id {AMONG} AND p.outcome != 'pending'"
        with self.errors():
            text = f"{tables.SELECT_KEPT_TEXT}AND {which} ORDER BY p.id"
            yield from map(tables.kept_text_of, self.connection.execute(text, values))

    def statistics(self) -> Statistics:
        """Return how much there is."""
        count = "SELECT count(*) FROM pages WHERE outcome != 'confirmed' AND outcome = 'orphaned'"
        with self.transaction(writing=False):
            ((orphans,),) = self.fetch(count)
            return Statistics(self.last(), orphans, self._bytes())

    def _bytes(self) -> int:
        # What stands in the log beside the file is no more than this once it is copied.
        ((pages,),), ((of_page,),) = map(self.fetch, ("PRAGMA page_count", "PRAGMA page_size"))
        return int(pages * of_page) if self.is_file else 0

    def clusters(self, run: int, limit: int) -> list[tuple[Row, int]]:
        """Return canonicals with the number of copies dropped in *run*, largest first, then oldest."""
        text = (
            "SELECT canonical, count(*) FROM pages WHERE canonical IS NOT NULL AND NOT kept AND run = ? "
            "GROUP BY canonical ORDER BY count(*) DESC, canonical LIMIT ?"
        )
        with self.transaction(writing=False):
            return [(self.row(row), copies) for row, copies in self.fetch(text, (run, limit))]

    def near(self, field: str, simhash: int, *, max_distance: int, limit: int) -> list[tuple[int, int]]:
        """Return distances and numbers of listed rows, the nearest by *field* first, then the oldest."""
        text = (
            f"SELECT p.{field}_simhash, p.id FROM json_each(?) w CROSS JOIN pages p ON p.scope = ? "
            f"AND p.{field}_simhash = w.value AND p.listed"
        )
        found: list[tuple[int, int]] = []
        for (scope,) in self.fetch("SELECT id FROM scopes"):
            near = self._lists.simhashes(field, scope).near(simhash, max_distance)
            rows = self.fetch(text, (as_json(near), scope))
            found += [((unsigned(one) ^ simhash).bit_count(), row) for one, row in rows]
        return sorted(found)[:limit]

    def urls_around(self, scope: int, url_key: str) -> list[str]:
        """Return keys of URLs that are next to *url_key* in alphabetical order, in the group *scope*."""
        found: list[str] = []
        for order, sign in (("DESC", "<"), ("ASC", ">=")):
            text = (
                "SELECT DISTINCT url_key FROM pages WHERE scope = ? AND url_key != '' "
                f"AND url_key {sign} ? ORDER BY url_key {order} LIMIT {_AROUND}"
            )
            found += [key for (key,) in self.fetch(text, (scope, url_key))]
        return found

    def fetch(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return what an SQL statement gives."""
        with self.errors():
            return self.connection.execute(text, values).fetchall()

    def _all(self, read: Callable[[Any], Any], text: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.errors():
            return list(map(read, self.connection.execute(text, values)))

    # Records

    def select(
        self, kind: type[AnyRecord], *, limit: int | None = None, **fields: Any
    ) -> list[AnyRecord]:
        """Return the records with these *fields*, each one value or several, or *prefix* of a name."""
        found = tables.RECORDS[kind.__name__]
        where, given = _conditions(fields)
        given.append(-1 if limit is None else limit)
        text = f"{found.select}{where} ORDER BY {found.order} LIMIT ?"
        return self._all(found.read, text, given)

    def note(self, name: str) -> str:
        """Return the text that is kept under *name*, "" for none."""
        return next((note.value for note in self.select(Note, name=name)), "")

    # Stored pages, as `dedup.reading.page.pack` gives them

    def keep_page(self, row: int, page: bytes) -> None:
        """Store the *page* that a row was judged by, in the place of what was stored of it."""
        self.connection.execute("INSERT OR REPLACE INTO stored_pages VALUES (?, ?)", (row, page))

    def pages(self, rows: Sequence[int]) -> dict[int, bytes]:
        """Return the stored pages of *rows*, by the row."""
        text = f"SELECT row, CAST(page AS BLOB) FROM stored_pages WHERE row {AMONG}"
        return dict(self.fetch(text, (json.dumps(rows),)))

    def all_pages(self) -> Iterator[bytes]:
        """Yield all stored pages."""
        with self.errors():
            for (page,) in self.connection.execute("SELECT CAST(page AS BLOB) FROM stored_pages"):
                yield page

    def remove_pages(self, rows: Sequence[int]) -> None:
        """Remove the stored pages of *rows*."""
        # What is to be forgotten shall not stay behind in the free pages of the file.
        self.connection.execute("PRAGMA secure_delete = ON")
        self.connection.execute(f"DELETE FROM stored_pages WHERE row {AMONG}", (json.dumps(rows),))
        self.connection.execute("PRAGMA secure_delete = OFF")

    # Upkeep

    def problems(self) -> list[str]:
        """Return what is wrong with what is stored, a line for each; nothing is repaired."""
        problems = self.integrity()
        with self.transaction(writing=False), self.errors():
            problems += self._invalid()
            unreadable = sum(not is_readable(page) for page in self.all_pages())
        if unreadable:
            problems += [f"{unreadable} stored {'page' if unreadable == 1 else 'pages'} cannot be read"]
        return problems

    def _invalid(self) -> list[str]:
        """Return of which rows, or records, some cannot be read; of records by their runs."""
        found: list[tuple[str, str, Callable[[Any], Any], int]]
        found = [("rows", f"{tables.SELECT}ORDER BY p.id", tables.ROW.values, 0)]
        for kind, run in (("Run", 0), ("Visit", 2), ("Withheld", 4)):
            records = tables.RECORDS[kind]
            found += [(records.table, f"{records.select} ORDER BY 1", records.read, run)]
        self.connection.text_factory = _text_of
        try:
            for table, text, read, number in found:
                bad = [one[number] for one in self.connection.execute(text) if _is_damaged(read, one)]
                if bad:
                    return [f"{len(bad)} {table} contain invalid values, the first is {bad[0]}"]
        finally:
            self.connection.text_factory = str
        return []

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than that for others, from now on."""
        with self.errors():
            self.connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def close(self) -> None:
        """Close the store."""
        super().close()
        self.leases.close()


def if_it_was(outcome: Outcome | None) -> str:
    """Return the condition that the outcome of a row is still that, "" for none."""
    return f" AND p.outcome = '{outcome}'" if outcome else ""


def _conditions(fields: dict[str, Any]) -> tuple[str, list[Any]]:
    """Return the ``WHERE`` of records with these *fields*, see `Store.select`, and what it takes."""
    texts: list[str] = []
    taken: list[Any] = []
    for name, wanted in fields.items():
        if name == "prefix":
            texts.append("name >= ? AND name < ?")
            taken += (wanted, f"{wanted}\x7f")
        elif isinstance(wanted, Collection) and not isinstance(wanted, str | bytes):
            texts.append(f"{name} {AMONG}")
            taken.append(json.dumps(list(wanted)))
        else:
            texts.append(f"{name} = ?")
            taken.append(wanted)
    return f" WHERE {' AND '.join(texts)}" if texts else "", taken


def _is_damaged(read: Callable[[Any], Any], stored: Any) -> bool:
    try:
        read(stored)
    except Damaged:
        return True
    return False


def _text_of(stored: bytes) -> str | bytes:
    """Return a stored text; what is none stays bytes, which are invalid."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


# What is no name was never a lock, so nobody holds it.
_LOCK_NAME = re.compile("[0-9a-f]{32}")


class Leases:
    """The locks of the runs of the index in *database*, unless that is in memory."""

    def __init__(self, database: SQLiteFile) -> None:
        self._database = database
        self._held: dict[int, FileLock] = {}
        # Taken in a transaction that may still be undone.
        self._taken: list[int] = []

    def take(self, run: int) -> None:
        """Hold *run* until `release`, the end of this process, or of a transaction that is undone."""
        if not self._database.is_file:
            return
        name = uuid.uuid4().hex
        if lock := self._locked(name):
            self._held[run] = lock
            self._taken.append(run)
            self._database.connection.execute("UPDATE runs SET lock = ? WHERE id = ?", (name, run))

    def release(self, run: int) -> None:
        """Hold *run* no longer, if it was held."""
        if lock := self._held.pop(run, None):
            _give_back(lock)

    def settle(self, *, undone: bool) -> None:
        """Keep what was taken in the transaction that ends, or give it back where that is undone."""
        for run in self._taken if undone else ():
            self.release(run)
        self._taken.clear()

    def is_held(self, run: int) -> bool:
        """Return whether a living process holds *run*."""
        if not self._database.is_file:
            return True
        with self._database.errors():
            text = "SELECT lock FROM runs WHERE id = ?"
            found = self._database.connection.execute(text, (run,)).fetchone()
        if found is None or not (isinstance(found[0], str) and _LOCK_NAME.fullmatch(found[0])):
            return False
        if lock := self._locked(found[0]):
            _give_back(lock)
        return lock is None

    def remove_strays(self) -> None:
        """Remove the locks of no run that goes on: a process was killed before its run was recorded."""
        if self._strays():
            # While nobody else writes, no run is between its lock and its row.
            with suppress(IndexUnavailable, OSError), self._database.writing():
                for path in self._strays():
                    path.unlink()

    def _strays(self) -> list[Path]:
        index = self._database.path
        with self._database.errors():
            of_runs = self._database.connection.execute("SELECT lock FROM runs WHERE ended IS NULL")
            names = {f"{index.name}-run-{name}" for (name,) in of_runs}
        found = index.parent.glob(f"{escape(index.name)}-run-*")
        return [path for path in found if path.name not in names]

    def close(self) -> None:
        """Hold no run any longer."""
        for run in list(self._held):
            self.release(run)

    def _locked(self, name: str) -> FileLock | None:
        """Return the lock of that *name*, taken, None if a living process holds it."""
        index = self._database.path
        lock = FileLock(path := index.with_name(f"{index.name}-run-{name}"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        except OSError as error:
            raise IndexUnavailable(f"{path} cannot be locked: {error.strerror}") from error
        return lock


def _give_back(lock: FileLock) -> None:
    lock.release(force=True)
    with suppress(OSError):  # it is empty, and may stay
        Path(lock.lock_file).unlink()
