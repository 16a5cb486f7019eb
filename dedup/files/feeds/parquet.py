"""Parquet: rows of tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.files.feeds.base import Feed, FeedError, Record, Sink
from dedup.model.errors import DedupError
from dedup.reading.fields import URL_FIELD, FieldRule, RawPage, raw_page_of

_ROWS = 64


class ParquetRows(Feed):
    """A Parquet file; a row is a record, its columns are fields."""

    form = "parquet"
    endings = (".parquet", ".pq")

    def likeness(self) -> object:
        """Return its schema."""
        with self._opened() as file:
            return _without_views(file.schema_arrow)

    def records(self) -> Iterator[Record]:
        """Yield the rows."""
        with self._opened() as file:
            schema = _without_views(file.schema_arrow)
            columns = self._columns(schema)
            number = 0
            for group in range(file.num_row_groups):
                try:
                    for batch in file.iter_batches(_ROWS, row_groups=[group]):
                        rows = batch.cast(schema)
                        yield from self._rows(rows, columns, number, file.metadata.num_rows)
                        number += batch.num_rows
                except read_errors() as error:
                    raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def _rows(self, batch: Any, columns: list[str], number: int, total: int) -> Iterator[Record]:
        judged = batch.select(columns)
        size = judged.nbytes // batch.num_rows
        for index in range(batch.num_rows):
            row = number + index + 1
            self.share = row / total
            name = self.named(row, "row")
            try:
                values = judged.slice(index, 1).to_pylist()[0]
            except ValueError as error:  # text that is not UTF-8
                yield Record(name, (batch, index), problem=f"cannot be read: {error}")
            else:
                yield Record(name, (batch, index), values, size)

    def _columns(self, schema: Any) -> list[str]:
        """Return the columns that are read: text, bytes and lists of text."""
        names = schema.names
        self.check_columns(names)
        if twice := ", ".join(sorted({name for name in names if names.count(name) > 1})):
            raise FeedError(f"{self.name} has more than one column {twice}")
        wanted = {*self.rule.text_fields, URL_FIELD} if self.rule.text_fields else set(names)
        return [column.name for column in schema if column.name in wanted and _is_text(column.type)]

    @staticmethod
    def raw_page(payload: dict[str, Any], rule: FieldRule) -> RawPage | None:
        """Return the page in a row."""
        return raw_page_of(payload, rule)

    def sink(self, path: Path, *, compressed: bool) -> Sink:  # noqa: ARG002
        """Open *path* for rows of the same schema."""
        with self._opened() as file:
            return _TableSink(path, _without_views(file.schema_arrow), _compression(file))

    def _opened(self) -> Any:
        parquet = parquet_module()
        try:
            return parquet.ParquetFile(self.path)
        except read_errors() as error:
            raise FeedError(f"{self.name} cannot be read: {error}") from error


class _TableSink(Sink):
    """Writes rows in large groups; those of a batch are taken when the next batch comes."""

    _GROUP_ROWS = 10_000
    _GROUP_BYTES = 32 * 1024 * 1024

    def __init__(self, path: Path, schema: Any, compression: str) -> None:
        self._writer = parquet_module().ParquetWriter(path, schema, compression=compression)
        self._schema = schema
        self._batch: Any = None
        self._indices: list[int] = []
        self._held: list[Any] = []

    def write(self, source: tuple[Any, int]) -> None:
        batch, index = source
        if batch is not self._batch:
            self._take()
            self._batch = batch
        self._indices.append(index)

    def _take(self) -> None:
        import pyarrow

        if self._indices:
            self._held.append(self._batch.take(pyarrow.array(self._indices)))
        self._batch, self._indices = None, []
        rows = sum(batch.num_rows for batch in self._held)
        if rows >= self._GROUP_ROWS or sum(batch.nbytes for batch in self._held) > self._GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._held:
            self._writer.write_table(pyarrow.Table.from_batches(self._held, self._schema))
        self._held = []

    def close(self) -> None:
        """Write what is left."""
        self._take()
        self._flush()
        self._writer.close()


def _compression(file: Any) -> str:
    metadata = file.metadata
    if not metadata.num_row_groups or not metadata.num_columns:
        return "snappy"
    name = str(metadata.row_group(0).column(0).compression).lower()
    return "none" if name == "uncompressed" else name


def _is_text(kind: Any) -> bool:
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind) or kinds.is_list(kind) or kinds.is_large_list(kind):
        return _is_text(kind.value_type)
    is_bytes = kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_fixed_size_binary(kind)
    return bool(is_bytes or kinds.is_string(kind) or kinds.is_large_string(kind))


def _without_views(schema: Any) -> Any:
    """Return *schema* with plain columns for views of text, from which no rows can be taken."""
    import pyarrow
    import pyarrow.types as kinds

    for place, column in enumerate(schema):
        if kinds.is_string_view(column.type):
            schema = schema.set(place, column.with_type(pyarrow.large_string()))
        elif kinds.is_binary_view(column.type):
            schema = schema.set(place, column.with_type(pyarrow.large_binary()))
    return schema


def read_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of reading, and *others*; that a codec is not available is no `ValueError`."""
    import pyarrow

    return (OSError, ValueError, pyarrow.ArrowException, *others)


def parquet_module() -> Any:
    """Return pyarrow's module for Parquet; raises `DedupError` where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DedupError(
            'Parquet is read with pyarrow; install it with: pip install "scrapy-dedup[parquet]"'
        ) from error
    return pyarrow.parquet
