"""Parquet: rows of tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.files.feeds.base import START, Feed, FeedError, Place, Record, Sink
from dedup.reading.fields import FieldRule, RawPage, raw_page_of
from dedup.values.errors import DedupError

_ROWS = 64


class ParquetRows(Feed):
    """A Parquet file; a row is a record, its columns are fields."""

    form = "parquet"

    def likeness(self) -> object:
        """Return its schema."""
        with self._opened() as file:
            return file.schema_arrow

    def records(self, start: Place = START) -> Iterator[Record]:
        """Yield the rows."""
        with self._opened() as file:
            columns = self._columns(file.schema_arrow)
            number = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if number + rows <= start[0]:
                    number += rows
                    continue
                try:
                    for batch in file.iter_batches(_ROWS, row_groups=[group]):
                        yield from self._rows(batch, columns, number, start[0], file.metadata.num_rows)
                        number += batch.num_rows
                except _errors() as error:
                    raise FeedError(f"{self.name} cannot be read to its end: {error}") from error

    def _rows(
        self, batch: Any, columns: list[str], number: int, start: int, total: int
    ) -> Iterator[Record]:
        judged = batch.select(columns)
        size = judged.nbytes // batch.num_rows
        for index in range(max(0, start - number), batch.num_rows):
            row = number + index + 1
            self.share = row / total
            name = self.named(row, "row")
            try:
                values = judged.slice(index, 1).to_pylist()[0]
            except ValueError as error:  # text that is not UTF-8
                yield Record((row, row), name, (batch, index), problem=f"cannot be read: {error}")
            else:
                yield Record((row, row), name, (batch, index), values, size)

    def _columns(self, schema: Any) -> list[str]:
        """Return the columns that are read: text, bytes and lists of text."""
        import pyarrow.types as kinds

        missing = set(self.rule.names) - set(schema.names)
        if missing:
            raise FeedError(
                f"{self.name} has no column {', '.join(sorted(missing))}; "
                f"it has {', '.join(schema.names)}"
            )
        twice = {name for name in schema.names if schema.names.count(name) > 1}
        if twice:
            raise FeedError(f"{self.name} has more than one column {', '.join(sorted(twice))}")
        wanted = {*self.rule.names, self.rule.url_field} if self.rule.names else set(schema.names)

        def is_text(kind: Any) -> bool:
            if kinds.is_dictionary(kind) or kinds.is_list(kind) or kinds.is_large_list(kind):
                return is_text(kind.value_type)
            return any(
                check(kind)
                for check in (
                    *(kinds.is_string, kinds.is_large_string),
                    *(kinds.is_binary, kinds.is_large_binary),
                )
            )

        return [field.name for field in schema if field.name in wanted and is_text(field.type)]

    @staticmethod
    def raw_page(payload: dict[str, Any], rule: FieldRule) -> RawPage | None:
        """Return the page in a row."""
        return raw_page_of(payload, rule)

    def sink(self, path: Path, *, compressed: bool) -> Sink:  # noqa: ARG002
        """Open *path* for rows of the same schema."""
        with self._opened() as file:
            return _TableSink(path, file.schema_arrow, _compression(file))

    def _opened(self) -> Any:
        parquet = _parquet()
        try:
            return parquet.ParquetFile(self.path)
        except _errors() as error:
            raise FeedError(f"{self.name} cannot be read: {error}") from error


class _TableSink(Sink):
    """Writes rows in large groups; those of a batch are taken when the next batch comes."""

    _GROUP_ROWS = 10_000
    _GROUP_BYTES = 32 * 1024 * 1024

    def __init__(self, path: Path, schema: Any, compression: str) -> None:
        self._writer = _parquet().ParquetWriter(path, schema, compression=compression)
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


def _errors() -> tuple[type[Exception], ...]:
    """The errors of reading; that a codec is not available is no `ValueError`."""
    import pyarrow

    return OSError, ValueError, pyarrow.ArrowException


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DedupError(
            'Parquet is read with pyarrow; install it with: pip install "scrapy-dedup[parquet]"'
        ) from error
    return pyarrow.parquet
