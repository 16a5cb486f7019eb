"""The addresses that a crawl does not visit, in a file, so that there may be any number of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any, NamedTuple

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS parked (number INTEGER PRIMARY KEY, pattern TEXT NOT NULL, "
    "url TEXT NOT NULL, request TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS parked_by_pattern ON parked (pattern)",
    "CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
)


class Parked(NamedTuple):
    """An address that was not visited: by which *pattern*, its *url* and its *request*, "" for none."""

    pattern: str
    url: str
    request: str


class ParkedAddresses:
    """Addresses by pattern, and what a crawl has learned, in the file at *path*; "" is a file that goes.

    What was written survives the end of the process, however it ends.
    """

    def __init__(self, path: str = "") -> None:
        # A kill loses nothing that was written, and a power failure ends the crawl anyway.
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = OFF")
        for statement in _SCHEMA:
            self._database.execute(statement)

    def park(self, parked: Parked) -> None:
        """Add an address."""
        self._database.execute("INSERT INTO parked (pattern, url, request) VALUES (?, ?, ?)", parked)

    def take(self, pattern: str, most: int) -> list[Parked]:
        """Take at most so many addresses of *pattern* out, the first that came first."""
        found = self._database.execute(
            "SELECT number, pattern, url, request FROM parked WHERE pattern = ? ORDER BY number LIMIT ?",
            (pattern, most),
        ).fetchall()
        self._database.executemany("DELETE FROM parked WHERE number = ?", ((row[0],) for row in found))
        return [Parked(*row[1:]) for row in found]

    def take_urls(self, urls: Set[str]) -> list[Parked]:
        """Take the addresses *urls* out, the first that came first."""
        rows = self._database.execute("SELECT number, pattern, url, request FROM parked ORDER BY number")
        found = [row for row in rows if row[2] in urls]
        self._database.executemany("DELETE FROM parked WHERE number = ?", ((row[0],) for row in found))
        return [Parked(*row[1:]) for row in found]

    def patterns(self) -> list[tuple[str, int]]:
        """Return each pattern with the number of its addresses, the largest first."""
        rows = self._database.execute(
            "SELECT pattern, count(*) FROM parked GROUP BY pattern ORDER BY count(*) DESC, pattern"
        )
        return rows.fetchall()

    def __iter__(self) -> Iterator[Parked]:
        rows = self._database.execute("SELECT pattern, url, request FROM parked ORDER BY number")
        return (Parked(*row) for row in rows)

    def save(self, name: str, value: Any) -> None:
        """Keep a *value*, bytes or what JSON can write, until it is saved again."""
        kept = value if isinstance(value, bytes) else json.dumps(value)
        self._database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, kept))

    def saved(self, name: str) -> Any:
        """Return what was saved under *name*, None for nothing."""
        row = self._database.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        return row[0] if isinstance(row[0], bytes) else json.loads(row[0])

    def write(self, path: Path) -> None:
        """Write all addresses to the file at *path*, as JSON lines."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for parked in self:
                file.write(json.dumps({"pattern": parked.pattern, "url": parked.url}) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._database.close()
