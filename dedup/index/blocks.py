"""A set of simhashes on disk that finds near ones: posting lists in an SQLite file of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Self

from dedup.algorithms import pairs
from dedup.index import chunks, postings
from dedup.index.database import BUSY_TIMEOUT, Database
from dedup.index.postings import DEFAULT_BLOCKS, PostingList, blocks_of
from dedup.index.schema import META
from dedup.values.errors import ConfigError
from dedup.values.hashes import SIMHASH_BITS, Hashes

# "dedb" in ASCII.
APPLICATION_ID = 0x64656462
SCHEMA_VERSION = 1
MAX_DISTANCE = 16


class BlockIndex:
    """A persistent set of 64-bit simhashes with exact search by Hamming distance.

    The simhashes are in the file *path*, made if there is none; *blocks* (4 to 8) tunes a new file
    and changes no answer: fewer are faster for many simhashes and small distances.  Hashes are 0 to
    2**64 - 1.  Every call is one transaction unless it stands inside `transaction`; several
    processes of one host may share the file.  Raises `IndexUnavailable` for a file that cannot be
    used, and leaves it as it is.

    M. Norouzi, A. Punjani, D. Fleet, Fast search in Hamming space with multi-index hashing, 2012.
    """

    def __init__(
        self, path: str | PathLike[str], *, blocks: int = DEFAULT_BLOCKS, timeout: float = BUSY_TIMEOUT
    ) -> None:
        self._database = Database(
            path,
            application_id=APPLICATION_ID,
            version=SCHEMA_VERSION,
            create=partial(_create, blocks=blocks),
            timeout=timeout,
        )
        try:
            with self._database.errors():
                self._blocks = blocks_of(self._database.meta("blocks"))
        except BaseException:
            self._database.close()
            raise
        self._list = PostingList(self._database.connection, "content", 0, blocks=self._blocks)

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def blocks(self) -> int:
        """How many blocks the simhashes of this file are cut into."""
        return self._blocks

    def add(self, simhash: int) -> bool:
        """Add *simhash*; return False if it was there already."""
        _check_simhash(simhash)
        with self._database.writing():
            if simhash in self._list:
                return False
            self._list.add(simhash)
            return True

    def add_many(self, simhashes: Hashes) -> int:
        """Add an array of simhashes, all or nothing; return how many were new."""
        with self._database.writing():
            return self._list.add_many(simhashes)

    def remove(self, simhash: int) -> bool:
        """Take *simhash* out; return False if it was not there."""
        _check_simhash(simhash)
        with self._database.writing():
            return self._list.remove(simhash)

    def find(self, simhash: int, max_distance: int) -> list[int]:
        """Return all within *max_distance* bits (inclusive, 0 to 16) of *simhash*, in no order."""
        _check_simhash(simhash)
        if not 0 <= max_distance <= MAX_DISTANCE:
            raise ConfigError(f"max_distance ({max_distance}) must be 0 to {MAX_DISTANCE}")
        with self._database.errors():
            return self._list.find(simhash, max_distance)

    def nearest(self, simhash: int, max_distance: int = SIMHASH_BITS) -> tuple[int, int] | None:
        """Return the simhash nearest to *simhash* and its distance, of equally near ones the smallest.

        None if there is no simhash within *max_distance* bits (inclusive, 0 to 64).
        """
        _check_simhash(simhash)
        if not 0 <= max_distance <= SIMHASH_BITS:
            raise ConfigError(f"max_distance ({max_distance}) must be 0 to {SIMHASH_BITS}")
        with self._database.reading():
            found = self._list.nearest(simhash, max_distance)
        return (int(found[1][0]), found[0]) if found else None

    def near_pairs(self, max_distance: int) -> Iterator[tuple[int, int]]:
        """Yield every pair (a, b), a < b, within *max_distance* bits (0 to 7), once, in no order.

        Works on a copy of the simhashes in memory (8 bytes each, some three times that while it sorts).
        """
        with self._database.errors():
            simhashes = self._list.hashes()
        return pairs.near_pairs(simhashes, max_distance)

    def verify(self) -> list[str]:
        """Return what `problems` does: this is its former name."""
        return self.problems()

    def problems(self) -> list[str]:
        """Return what is wrong with the file, a line for each; nothing is repaired."""
        problems = self._database.integrity()
        with self._database.reading():
            problems += self._list.disagreements()
        return problems

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which all changes are one transaction, for speed or atomicity."""
        return self._database.writing()

    def checkpoint(self) -> None:
        """Bring all changes into the file itself."""
        self._database.checkpoint()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __len__(self) -> int:
        with self._database.errors():
            return self._list.count()

    def __contains__(self, simhash: int) -> bool:
        with self._database.errors():
            return simhash in self._list

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _create(connection: sqlite3.Connection, blocks: int) -> None:
    postings.layout(blocks)  # refuses wrong numbers
    connection.execute(META.create)
    connection.execute(chunks.SCHEMA)
    connection.execute("INSERT INTO meta VALUES ('blocks', ?)", (str(blocks),))


def _check_simhash(simhash: int) -> None:
    if not 0 <= simhash < 1 << 64:
        raise ConfigError(f"simhash ({simhash}) must be 0 to 2**64 - 1")
