"""What is held in memory of the rows of an index, so that near pages are found: their simhashes.

All of it can be made anew from the rows at any time, and follows them by their numbers.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from secrets import token_hex

import numpy as np

from dedup.index.blocks import Simhashes, distinct
from dedup.index.database import Damaged
from dedup.index.rows import Pool
from dedup.model.fingerprint import SIMHASH_FIELDS
from dedup.model.hashes import Hashes, unsigned

# So many lists are held, those that were asked last: of a crawl that compares the pages of a host, few.
_MOST_LISTS = 1000

# So many templates are held, those that were asked about last; a page takes some 400 bytes.
_MOST_TEMPLATES = 512
# Of each at most so many pages; a question for more than half of that is not answered.
_MOST_PAGES = 128
# So many of the newest pages of one scope are held, whatever their template.
_LATEST = 256

# A row's number and sketch: most rows are ruled out by the sketch, and nothing else of them is read.
Sketched = tuple[int, bytes]
# Number, sketch, whether it is of a dry run, run, structure simhash (signed).
_Page = tuple[int, bytes, bool, int, int]
_PAGE = "SELECT id, sketch, is_dry, run, structure_simhash FROM pages"

# The note of the last rows with older numbers that were listed, each with a token of that time.
_RELISTED = "relisted"
_MOST_RELISTED = 200


class Newest:
    """The newest listed pages by structure simhash, with their sketches, through *connection*.

    Nearly all pages of a site may have one structure simhash.  Comparing a page with the newest of them
    would mean reading that many rows, the same ones page after page.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # The newest pages of one template, the oldest first, and whether there are no others.
        self._templates: OrderedDict[tuple[int, int], tuple[list[_Page], bool]] = OrderedDict()
        # The newest pages of the scope that was asked about last, the oldest of them first.
        self._latest_of, self._latest = -1, list[_Page]()
        # Those that are listed no more.
        self._gone = set[int]()

    def clear(self) -> None:
        """Hold nothing any more."""
        self._templates.clear()
        self._gone.clear()
        self._latest_of = -1

    def latest(self, scope: int, pool: Pool, simhashes: Collection[int]) -> Iterator[Sketched]:
        """Yield pages of *pool* with one of the structure *simhashes* (signed), the newest first.

        Only those that are among the newest of all.  *scope* is the number of its group.
        """
        if self._latest_of != scope:
            self._latest = self._connection.execute(
                f"{_PAGE} NOT INDEXED WHERE scope = ? AND listed "
                "AND id > (SELECT max(id) FROM pages) - ? ORDER BY id",
                (scope, _LATEST),
            ).fetchall()
            self._latest_of = scope
        pages = (page for page in reversed(self._latest) if page[4] in simhashes)
        return self._in_pool(pages, pool)

    def sketches(self, scope: int, simhash: int, pool: Pool, limit: int) -> list[Sketched] | None:
        """Return the newest pages of *pool* with that structure simhash, the oldest of them first.

        At most *limit*; None where that is too many, or too many of the newest are not in *pool*.
        *scope* is the number of its group, *simhash* is signed.
        """
        if limit > _MOST_PAGES // 2:
            return None
        pages, is_whole = self._template((scope, simhash), limit)
        found = list(self._in_pool(pages, pool))
        return found[-limit:] if is_whole or len(found) >= limit else None

    def _template(self, name: tuple[int, int], limit: int) -> tuple[list[_Page], bool]:
        if name in self._templates:
            self._templates.move_to_end(name)
            return self._templates[name]
        pages = self._connection.execute(
            f"{_PAGE} WHERE scope = ? AND listed AND structure_simhash = ? ORDER BY id DESC LIMIT ?",
            (*name, limit),
        ).fetchall()
        self._templates[name] = pages[::-1], len(pages) < limit
        if len(self._templates) > _MOST_TEMPLATES:
            self._templates.popitem(last=False)
        return self._templates[name]

    def add(self, scope: int, page: _Page) -> None:
        """Note that a page was listed, the newest so far."""
        if scope == self._latest_of:
            self._latest.append(page)
            if len(self._latest) > 2 * _LATEST:
                del self._latest[:-_LATEST]
        name = scope, page[4]
        if name in self._templates:
            pages, _ = self._templates[name]
            pages.append(page)
            if len(pages) > _MOST_PAGES:
                self._templates[name] = pages[-_MOST_PAGES // 2 :], False

    def remove(self, row: int) -> None:
        """Note that the page *row* is listed no more."""
        self._gone.add(row)

    def _in_pool(self, pages: Iterable[_Page], pool: Pool) -> Iterator[Sketched]:
        gone, without, dry_runs = self._gone, pool.without, pool.dry_runs
        for row, sketch, is_dry, run, _ in pages:
            if row not in without and row not in gone and (not is_dry or run in dry_runs):
                yield row, sketch


class Lists:
    """The simhashes of the listed rows of each scope, through *connection*; the last asked are held.

    Every method is part of the caller's transaction.  A scope is the number of a group.  A list has the
    simhash of every listed row, and may have that of one which is listed no more.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.newest = Newest(connection)
        self._lists: OrderedDict[tuple[str, int], Simhashes] = OrderedDict()
        # Up to here the rows were read, and whether there may be more by now.
        self._last: int | None = None
        self.is_behind = False
        self._relisted: str | None = None

    def clear(self) -> None:
        """Hold nothing any more, as after a transaction that was undone."""
        self._lists.clear()
        self._last, self.is_behind = None, True
        self.newest.clear()

    def look_around(self) -> None:
        """Look at what others have changed."""
        self.is_behind = True
        self.newest.clear()
        times = self._times()
        if self._relisted not in times:
            self.clear()
        else:
            for time in times[times.index(self._relisted) + 1 :]:
                self._take_row(time.partition(":")[0])
        self._relisted = times[-1]

    def note_relisted(self, row: int) -> None:
        """Note that an older *row* was listed again, or has another fingerprint."""
        self.newest.clear()
        self._take_row(row)
        self._relisted = f"{row}:{token_hex(8)}"
        times = " ".join([*self._times(), self._relisted][-_MOST_RELISTED:])
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_RELISTED, times))

    def _times(self) -> list[str]:
        text = "SELECT value FROM meta WHERE name = ?"
        found = self._connection.execute(text, (_RELISTED,)).fetchone()
        return str(found[0]).split(" ") if found else [""]

    def _take_row(self, row: int | str) -> None:
        text = "SELECT scope, content_simhash, structure_simhash FROM pages WHERE id = ?"
        for scope, *simhashes in self._connection.execute(text, (row,)):
            self._take(scope, *simhashes)

    def simhashes(self, field: str, scope: int) -> Simhashes:
        """Return the simhashes *field* of a scope."""
        if self.is_behind:
            self._read_on()
            self.is_behind = False
        name = field, scope
        if name not in self._lists:
            self._lists[name] = Simhashes(self._read(field, scope))
            if len(self._lists) > _MOST_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(name)
        return self._lists[name]

    def _read(self, field: str, scope: int) -> Hashes:
        name = f"{field}_simhash"
        rows = self._connection.execute(  # by another index, every row would be looked up
            f"SELECT {name} FROM pages INDEXED BY pages_by_{field} "
            f"WHERE scope = ? AND listed AND {name} != 0",
            (scope,),
        )
        try:
            return distinct(np.fromiter((simhash for (simhash,) in rows), np.int64).view(np.uint64))
        except (OverflowError, TypeError, ValueError) as error:
            raise Damaged(f"a row has no number as its {field} simhash") from error

    def _read_on(self) -> None:
        if self._last is None:
            (self._last,) = self._connection.execute("SELECT ifnull(max(id), 0) FROM pages").fetchone()
            return
        new = self._connection.execute(
            "SELECT listed, scope, content_simhash, id, sketch, is_dry, run, structure_simhash "
            "FROM pages WHERE id > ? ORDER BY id",
            (self._last,),
        )
        for listed, scope, content, *page in new:
            if listed:
                self._take(scope, content, page[4])
                self.newest.add(scope, tuple(page))
            self._last = page[0]

    def _take(self, scope: int, *simhashes: int) -> None:
        for field, simhash in zip(SIMHASH_FIELDS, simhashes, strict=True):
            held = self._lists.get((field, scope))
            if held and simhash and isinstance(simhash, int):
                held.add(unsigned(simhash))
