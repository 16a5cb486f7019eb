"""A draft of an index on a server: what a crawl goes on with while the server is away."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from dedup.index.address import Address
from dedup.index.index import Index
from dedup.index.rows import Group
from dedup.index.store import Store

# The rows of each draft have numbers that no other index has.
_RANGES = count(1)
_IN_RANGE = 1 << 40


class _DraftStore(Store):
    """A temporary file, which is gone when it is closed or its process is; it begins as *replica*."""

    def __init__(self, replica: Path | None) -> None:
        self._replica = replica
        self._next = count(next(_RANGES) * _IN_RANGE)
        super().__init__(None)

    def _connect(self, timeout: float, read_only: bool) -> sqlite3.Connection:  # noqa: ARG002
        # Without a name it is a file that SQLite removes.
        connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        if self._replica:
            address = f"{self._replica.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, timeout=timeout, uri=True)) as source:
                source.backup(connection)
        return connection

    def _insert(self, number: int | None, group: Group, values: Sequence[Any]) -> int:
        return super()._insert(next(self._next) if number is None else number, group, values)


class Draft(Index):
    """An index of one process that begins as *replica*, or empty; what is added, is added only here.

    It has the name of *address*.  Raises `IndexUnavailable`.
    """

    def __init__(self, address: Address, replica: Path | None) -> None:
        store = _DraftStore(replica)
        store.name = address.name
        super().__init__(store, read_only=True)  # the other runs are none of its business
