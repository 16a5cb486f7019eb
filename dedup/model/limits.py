"""How much of a page is read and kept."""

from __future__ import annotations

from enum import StrEnum

MAX_BYTES = 4_000_000
"""A page of more bytes than this is not read, by default."""
MAX_ATTRIBUTES = 2000
"""A tag of more attributes than this is not read."""
MAX_DEPTH = 2000
"""A page with an element deeper than this is not read: some 50 levels below it libxml2 gives up."""
MAX_TITLE = 500
"""A title is cut after so many characters."""
MAX_URL = 8000
"""A longer URL is kept as its beginning and a digest, so many characters in all."""
MAX_REDIRECTS = 20
"""So many URLs of a chain of redirects are kept, the first ones."""


class Excess(StrEnum):
    """Which limit a page is over; the ends of stats."""

    BYTES = "bytes"
    ATTRIBUTES = "attributes"
    DEPTH = "depth"
    TEXT = "text"


EXCESSES = {
    Excess.BYTES: f"more than {MAX_BYTES:,} bytes",
    Excess.TEXT: f"text of more than {MAX_BYTES:,} bytes in Unicode's normal form",
    Excess.ATTRIBUTES: f"a tag of more than {MAX_ATTRIBUTES:,} attributes",
    Excess.DEPTH: f"elements in more than {MAX_DEPTH:,} others",
}
"""What a page over a limit has, in words."""
