"""The tables between the steps: their columns, and fingerprints in and out of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from dedup.values.fingerprint import Fingerprint
from dedup.values.hashes import digest
from dedup.values.simhashes import signed, unsigned

Batches = Iterator[pa.RecordBatch]
Row = Mapping[str, Any]

_FINGERPRINT = (
    pa.field("content", pa.int64()),
    pa.field("structure", pa.int64()),
    pa.field("sketch", pa.binary()),
    pa.field("body_digest", pa.binary()),
    pa.field("token_digest", pa.binary()),
    pa.field("tokens", pa.int64()),
    pa.field("words", pa.int64()),
    pa.field("shingles", pa.int64()),
    pa.field("sample", pa.binary()),
    pa.field("inside", pa.int64()),
    pa.field("traits", pa.binary()),
)
# A file of the input: *content* is what it holds where a worker cannot open it by its *path*.
FILES = pa.schema(
    [("number", pa.int64()), ("path", pa.string()), ("form", pa.string()), ("content", pa.binary())]
)
# A page.  *problem* says what is wrong with a record that cannot be read; *is_page* is false where it is
# damaged and cannot be written, and null where its file cannot be read further.  *kind* is "" of what is
# not in an index.  *same* is equal for pages of a group and a host that have one fate, but for the first
# of them; null for what is not judged.
PRINTS = pa.schema(
    [
        ("id", pa.int64()),
        ("is_page", pa.bool_()),
        ("problem", pa.string()),
        ("url", pa.string()),
        ("title", pa.string()),
        ("canonical_link", pa.string()),
        ("item_key", pa.string()),
        ("seen_on", pa.string()),
        ("kind", pa.string()),
        ("scope", pa.string()),
        ("group", pa.int64()),
        ("host", pa.string()),
        ("same", pa.binary()),
        *_FINGERPRINT,
    ]
)
# What pairs are made of; the key of a bucket and a page in it.
LIGHT = pa.schema([("id", pa.int64()), ("group", pa.int64()), ("sketch", pa.binary())])
BUCKETS = pa.schema([("key", pa.int64()), ("id", pa.int64())])
# Two pages, the earlier first, and *key* 0; or a page *b* that the bucket *key* has not compared yet.
PAIRS = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("key", pa.int64())])
SIMILAR = pa.schema([("a", pa.int64()), ("b", pa.int64())])
# A pair that is verified: its place (`dedup.rule.decide.preference`) and what the check says.  While
# *asks* is true it waits for what is known of the sites.
EDGES = pa.schema(
    [
        ("a", pa.int64()),
        ("b", pa.int64()),
        ("asks", pa.bool_()),
        ("rank", pa.int64()),
        ("content_order", pa.float64()),
        ("structure_order", pa.float64()),
        ("reason", pa.string()),
        ("content_distance", pa.int64()),
        ("structure_distance", pa.int64()),
        ("similarity", pa.float64()),
        ("lost", pa.int64()),
        ("missing", pa.int64()),
    ]
)
_HOST = pa.field("host", pa.string())
# What is known of a page once its site is: *own* is what of its sample is not common there, *elsewhere*
# tells whether all but a few of its words stand on other pages kept, *is_big* whether enough pages of
# the site are known to say what is common.  All are null where nothing is known.
_KNOWN = (
    pa.field("own", pa.binary()),
    pa.field("elsewhere", pa.bool_()),
    pa.field("is_big", pa.bool_()),
)
_SIDE = (_HOST, *_FINGERPRINT, *_KNOWN)
PAGE = tuple(field.name for field in (_HOST, *_FINGERPRINT))
KNOWN = tuple(field.name for field in _KNOWN)
SIDES = (*PAGE, *KNOWN)
# A page with what is known of it.
FACTS = pa.schema([("id", pa.int64()), ("group", pa.int64()), *_SIDE])
# A page in a bucket; *is_copied* says that other pages of its site have its fate.
MEMBERS = pa.schema([("key", pa.int64()), *FACTS, ("is_copied", pa.bool_())])
# Two pages with their fingerprints; *common_a*, *common_b*: what of their samples and titles is common
# on a's host.
TWO = pa.schema(
    [
        ("a", pa.int64()),
        ("b", pa.int64()),
        *(pa.field(f"{side}_{field.name}", field.type) for side in "ab" for field in _SIDE),
    ]
)
TOLD = pa.schema([*TWO, ("common_a", pa.binary()), ("common_b", pa.binary())])
CERTAIN = pa.schema(
    [("id", pa.int64()), _HOST, ("pages", pa.int64()), ("sample", pa.binary()), ("traits", pa.binary())]
)
CONTEXTS = pa.schema([_HOST, ("pages", pa.int64()), ("hashes", pa.binary()), ("counts", pa.binary())])


def fingerprint_columns(page: Fingerprint) -> dict[str, Any]:
    """Return the columns of *page*."""
    return {
        "content": signed(page.content_simhash),
        "structure": signed(page.structure_simhash),
        "sketch": page.sketch,
        "body_digest": page.body_digest,
        "token_digest": page.token_digest,
        "tokens": page.tokens,
        "words": page.words,
        "shingles": page.shingles,
        "sample": page.sample,
        "inside": page.inside,
        "traits": page.traits,
    }


def fingerprint_in(row: Row, side: str = "") -> Fingerprint:
    """Return the fingerprint in the columns of *row* whose names begin with *side*."""
    return Fingerprint(
        content_simhash=unsigned(row[f"{side}content"]),
        structure_simhash=unsigned(row[f"{side}structure"]),
        sketch=row[f"{side}sketch"],
        body_digest=row[f"{side}body_digest"],
        token_digest=row[f"{side}token_digest"],
        tokens=row[f"{side}tokens"],
        words=row[f"{side}words"],
        shingles=row[f"{side}shingles"],
        sample=row[f"{side}sample"],
        inside=row[f"{side}inside"],
        traits=row[f"{side}traits"],
    )


def number_of(*parts: str | bytes) -> int:
    """Return a number of 64 bits, with a sign, that is equal for equal *parts*."""
    return int.from_bytes(digest_of(*parts)[:8], "little", signed=True)


def digest_of(*parts: str | bytes) -> bytes:
    """Return 16 bytes that are equal for equal *parts*."""
    joined = b""
    for part in parts:
        encoded = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        joined += b"%d:%b" % (len(encoded), encoded)
    return digest(joined)


def batch_of(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Return *rows* as a batch of *schema*."""
    columns = [pa.array([row[name] for row in rows], schema.field(name).type) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def batched(rows: Iterable[Row], schema: pa.Schema, size: int = 1000) -> Batches:
    """Yield *rows* in batches of *schema* with at most *size* rows (1 or more)."""
    held: list[Row] = []
    for row in rows:
        held.append(row)
        if len(held) >= size:
            yield batch_of(held, schema)
            held = []
    if held:
        yield batch_of(held, schema)


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Yield the rows of *batches*, a batch at a time in memory."""
    for batch in batches:
        yield from batch.to_pylist()
