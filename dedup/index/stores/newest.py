"""The sketches of the newest pages of each template, held in memory.

Nearly all pages of a site may have one structure simhash.  Comparing a page with the newest of them
would mean reading that many rows, the same ones page after page.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from dataclasses import dataclass

from dedup.index.bands import Sketched
from dedup.index.stores.base import Pool
from dedup.values.sighting import Sighting
from dedup.values.simhashes import signed

# So many templates are held, those that were asked about last; a page takes some 400 bytes.
_MOST_TEMPLATES = 512
# Of each at most so many pages; a question for more than half of that is not answered.
_MOST_PAGES = 128


@dataclass(slots=True)
class _Template:
    """The newest listed pages of one structure simhash, the oldest first.

    *is_whole* says that there are no others.
    """

    pages: list[tuple[int, bytes, bool, int]]
    is_whole: bool


class Newest:
    """The newest listed pages by structure simhash, through *connection*.

    It is right as long as it is told of all changes: whoever uses it calls `clear` when anybody else
    has changed the file, or a transaction was undone.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._templates: OrderedDict[tuple[int, int], _Template] = OrderedDict()

    def clear(self) -> None:
        """Hold nothing any more."""
        self._templates.clear()

    def sketches(self, scope: int, simhash: int, pool: Pool, limit: int) -> list[Sketched] | None:
        """Return the newest pages of *pool* with that structure simhash, the oldest of them first.

        At most *limit*; None where that is too many, or too many of the newest are not in *pool*.
        *scope* is the number of its group, *simhash* is signed.
        """
        if limit > _MOST_PAGES // 2:
            return None
        template = self._template(scope, simhash, limit)
        without, dry_runs = pool.without, pool.dry_runs
        found = [
            (row, sketch)
            for row, sketch, is_dry, run in template.pages
            if row not in without and (not is_dry or run in dry_runs)
        ]
        if len(found) < limit and not template.is_whole:
            return None
        return found[-limit:]

    def _template(self, scope: int, simhash: int, limit: int) -> _Template:
        name = (scope, simhash)
        if template := self._templates.get(name):
            self._templates.move_to_end(name)
            return template
        pages = self._connection.execute(
            "SELECT id, sketch, is_dry, run FROM pages WHERE scope = ? AND listed "
            "AND structure_simhash = ? ORDER BY id DESC LIMIT ?",
            (*name, limit),
        ).fetchall()
        template = self._templates[name] = _Template(pages[::-1], len(pages) < limit)
        if len(self._templates) > _MOST_TEMPLATES:
            self._templates.popitem(last=False)
        return template

    def add(self, scope: int, row: int, seen: Sighting) -> None:
        """Note that the page *seen* was listed, with the number *row*."""
        page = seen.fingerprint
        template = self._templates.get(name := (scope, signed(page.structure_simhash)))
        if template is None:
            return
        pages = template.pages
        if pages and row < pages[-1][0]:  # it is listed again
            del self._templates[name]
            return
        pages.append((row, page.sketch, seen.is_dry, seen.run))
        if len(pages) > _MOST_PAGES:
            del pages[: -_MOST_PAGES // 2]
            template.is_whole = False

    def remove(self, scope: int, seen: Sighting) -> None:
        """Note that a page like *seen* is listed no more."""
        self._templates.pop((scope, signed(seen.fingerprint.structure_simhash)), None)
