"""The values of columns as JSON has them: read with care, and written."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from dedup.index import Row, Run
from dedup.index.schema import (
    COUNT,
    DIGEST,
    DISTANCE,
    FLAG,
    NUMBER,
    OUTCOME,
    REASON,
    ROW,
    RUN,
    SAMPLE,
    SIMHASH,
    SIMILARITY,
    SKETCH,
    TEXT,
    TIME,
    URLS,
    Column,
    ColumnKind,
)
from dedup.values.simhashes import simhash_hex

LARGEST = 2**63 - 1
"""The largest number that SQLite can hold."""

_SIMHASH_BYTES = 8


class Values:
    """The values of a JSON object; every reader raises ValueError, which names the key.

    Of a row, *earlier* is how many rows come before it, *runs* how many runs there are.
    """

    def __init__(self, values: Any, *, earlier: int = 0, runs: int = 0) -> None:
        if not isinstance(values, dict):
            raise ValueError("a line must be a JSON object")
        self._values: dict[str, Any] = values
        self.earlier, self.runs = earlier, runs

    @classmethod
    def of_line(cls, line: bytes, *, earlier: int = 0, runs: int = 0) -> Values:
        """Return the values of the object in a line."""
        return cls(_parsed(line), earlier=earlier, runs=runs)

    def get(self, key: str) -> Any:
        """Return any value, None for none."""
        return self._values.get(key)

    def text(self, key: str) -> str:
        """Return a text that is valid Unicode."""
        value = self._values.get(key)
        if not isinstance(value, str) or not is_unicode(value):
            raise ValueError(f"{key} must be text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of such texts."""
        values = self._values.get(key)
        if not (isinstance(values, list) and all(isinstance(v, str) and is_unicode(v) for v in values)):
            raise ValueError(f"{key} must be a list of texts")
        return tuple(values)

    def choice(self, key: str, kind: ColumnKind) -> Any:
        """Return what one of the values of *kind* stands for."""
        value, choices = self.text(key), kind.values or {}
        if value not in choices:
            raise ValueError(f"{key} ({value!r:.50}) must be one of {', '.join(choices)}")
        return choices[value]

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self._values.get(key)
        if not isinstance(value, bool):
            raise ValueError(f"{key} must be true or false")
        return value

    def whole(self, key: str, low: float = 0, high: float = LARGEST) -> int:
        """Return a whole number from *low* to *high*."""
        value = self._values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{key} must be a whole number, {low} to {high}")
        return value

    def number(self, key: str, low: float, high: float) -> float:
        """Return a number from *low* to *high*."""
        value = self._values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{key} must be a number, {low:g} to {high:g}")
        return float(value)

    def digits(self, key: str, sizes: tuple[int, ...]) -> bytes:
        """Return the bytes behind hexadecimal digits, of one of *sizes*."""
        text, value = self.text(key), b""
        with suppress(ValueError):
            value = bytes.fromhex(text)
        if len(value) not in sizes or bool(value) != bool(text):
            raise ValueError(f"{key} must have {2 * sizes[-1]} hexadecimal digits")
        return value

    def simhash(self, key: str) -> int:
        """Return a simhash."""
        return int.from_bytes(self.digits(key, (_SIMHASH_BYTES,)))

    def sketch(self, key: str) -> bytes:
        """Return a sketch."""
        value = self._base64(key)
        if len(value) not in SKETCH.sizes:
            raise ValueError(f"{key} has {len(value)} bytes, it must have {SKETCH.sizes[-1]}")
        return value

    def sample(self, key: str) -> bytes:
        """Return a sample in base64."""
        value = self._base64(key)
        if len(value) % SAMPLE.unit:
            raise ValueError(f"{key} has {len(value)} bytes, it must have a multiple of {SAMPLE.unit}")
        return value

    def _base64(self, key: str) -> bytes:
        text = self.text(key)
        try:
            return base64.b64decode(text, validate=True)
        except ValueError as error:
            raise ValueError(f"{key} must be bytes in base64") from error


@dataclass(frozen=True, slots=True)
class _Form:
    """How values of a kind are read from JSON, by their key, and written as JSON."""

    read: Callable[[Values, str], Any]
    write: Callable[[Any], Any] = lambda value: value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _within(kind: ColumnKind, read: Callable[..., Any]) -> _Form:
    assert kind.within is not None
    low, high = kind.within
    return _Form(lambda values, key: read(values, key, low, high))


_FORMS = {
    TEXT: _Form(Values.text),
    FLAG: _Form(Values.flag),
    NUMBER: _Form(Values.whole),
    COUNT: _within(COUNT, Values.whole),
    DISTANCE: _within(DISTANCE, Values.whole),
    SIMILARITY: _within(SIMILARITY, Values.number),
    TIME: _within(TIME, Values.number),
    RUN: _Form(lambda values, key: values.whole(key, 1, values.runs)),
    ROW: _Form(lambda values, key: values.whole(key, 1, values.earlier)),
    REASON: _Form(lambda values, key: values.choice(key, REASON)),
    OUTCOME: _Form(lambda values, key: values.choice(key, OUTCOME)),
    URLS: _Form(Values.texts, list),
    SIMHASH: _Form(Values.simhash, simhash_hex),
    SKETCH: _Form(Values.sketch, _base64),
    SAMPLE: _Form(Values.sample, _base64),
    DIGEST: _Form(lambda values, key: values.digits(key, DIGEST.sizes), bytes.hex),
}


class JsonObject:
    """The JSON object of a row or a run: a key for each of *columns*."""

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = tuple(columns)
        self._given = attrgetter(*(column.field for column in self._columns))
        self._writers = [(column.export, _FORMS[column.kind].write) for column in self._columns]
        self._readers = [
            (column, _FORMS[column.kind].read, *column.field.rpartition(".")[::2])
            for column in self._columns
        ]

    def record(self, of: Row | Run) -> dict[str, Any]:
        """Return the object."""
        return {
            key: None if value is None else write(value)
            for (key, write), value in zip(self._writers, self._given(of), strict=True)
        }

    def fields(self, values: Values) -> dict[str, dict[str, Any]]:
        """Return the fields behind *values*, under the paths of the objects that they are fields of."""
        objects: dict[str, dict[str, Any]] = {path: {} for _, _, path, _ in self._readers}
        for column, read, path, name in self._readers:
            is_missing = values.get(column.export) is None and not column.is_required
            objects[path][name] = column.absent if is_missing else read(values, column.export)
        return objects


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is no JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ValueError("this is no JSON: its text is no UTF-8") from error
    except ValueError as error:
        raise ValueError("this is no JSON: a number is too long") from error
    except RecursionError as error:
        raise ValueError("this is no JSON: it is nested too deeply") from error


def _refused(constant: str) -> None:
    raise json.JSONDecodeError(f"{constant} is no number", "", 0)


def is_unicode(text: str) -> bool:
    """Return whether *text* has no half of a surrogate pair, which no file and no index can hold."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
