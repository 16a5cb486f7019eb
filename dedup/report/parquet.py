"""Records as Parquet: typed columns, for those who analyse them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dedup.values.errors import DedupError

# Rows that are written at once; some hundred bytes each.
_BATCH = 20_000
# The types of columns that are no text, by name, as pyarrow calls them.
TYPES = {
    "content_distance": "uint8",
    "structure_distance": "uint8",
    "similarity": "float64",
    "run": "int64",
    "canonical_run": "int64",
    "lost": "int64",
    "missing": "int64",
    "words": "int64",
    "time": "timestamp[us, tz=UTC]",
}


def write_parquet(records: Iterable[Mapping[str, Any]], columns: Iterable[str], path: Path) -> None:
    """Write *records* with those *columns* to the file *path*.

    Text that is no Unicode (lone surrogates) is escaped.  Raises `DedupError` without pyarrow.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DedupError(
            'Parquet needs pyarrow; install it with: pip install "scrapy-dedup[parquet]"'
        ) from error
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in columns])
    with (
        path.open("wb") as file,  # pyarrow itself opens no name that is not UTF-8
        pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for batch in _batches(records):
            rows = [{name: _text(value) for name, value in record.items()} for record in batch]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))


def _type(pyarrow: Any, column: str) -> Any:
    if column == "time":
        return pyarrow.timestamp("us", tz="UTC")
    return getattr(pyarrow, TYPES.get(column, "string"))()


def _batches(records: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    source = iter(records)
    while batch := list(islice(source, _BATCH)):
        yield batch


def _text(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
