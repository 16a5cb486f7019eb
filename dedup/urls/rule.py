"""A rule: what does not matter in the URLs of a host, on the paths of a pattern."""

from __future__ import annotations

from typing import NamedTuple

from dedup.urls.edits import Edit
from dedup.urls.parts import ANY_PATH
from dedup.values.hashes import murmur3
from dedup.values.printable import printable


class Rule(NamedTuple):
    """What *edit* takes out of the URLs of *host* does not matter where the path has the *pattern*."""

    host: str
    edit: Edit
    pattern: str = ANY_PATH

    @property
    def id(self) -> str:
        """Its name, the same in every index."""
        return f"{murmur3(chr(0).join((self.host, *self.edit, self.pattern))) >> 16:012x}"

    @property
    def words(self) -> str:
        """What it says, for people."""
        where = (
            ""
            if self.pattern == ANY_PATH
            else f" {'at' if '?' in self.pattern else 'below'} {printable(self.pattern)}"
        )
        return f"{self.edit.words}{where}"
