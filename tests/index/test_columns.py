"""What a column may hold is said once, and what is written is read again."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import SQLiteIndex
from dedup.index import Row, Sighting
from dedup.index.rows import GLANCES, NUMBER, ROWS, SCHEMA, STORED, TEXT, Reader, insert, values_of
from dedup.index.sqlite_file import Damaged
from dedup.model.fingerprint import BINS, Fingerprint
from dedup.model.hashes import SIMHASH_BITS
from dedup.model.verdict import EARLIEST, LATEST, Outcome, Reason, Standing, Verdict
from tests.support.pages import glance_of

INVALID: dict[str, list[object]] = {
    "tokens": [0.5, "five", None],
    "content_simhash": ["five", None],
    "sketch": [b"", bytes(255), None],
    "body_digest": [bytes(15), "", None],
    "content_distance": [-1, 65, 3.5, "far"],
    "similarity": [-0.001, 1.001, "alike"],
    "time": [EARLIEST - 1, LATEST + 1, inf, None],
    "kept": [2, -1, "yes", None],
    "is_elsewhere": [2, None],
    "reason": ["nEw", b"new", None],
    "outcome": ["new", 1, None],
    "title": [b"a", 1, None],
    "seen_on": [b"a"],
    "canonical": ["first", 1.5],
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_invalid_is_told_with_its_row(name: str) -> None:
    reader = Reader("row", {"id": NUMBER, name: STORED[name], "url": TEXT}, "pages", tuple)
    for stored in INVALID[name]:
        with pytest.raises(Damaged, match=r"^row 7 has an invalid value$"):
            reader.read((7, stored, "http://a/"))


digests = st.sampled_from([b"", bytes(16), b"0123456789abcdef"])
simhashes = st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
distances = st.none() | st.integers(0, SIMHASH_BITS)
texts = st.sampled_from(["", "http://a/", "ä\x00\ud7ff", "'; --"])


numbers, flags = st.integers(0, 2**63 - 1), st.booleans()
pages = st.builds(
    Fingerprint,
    *(simhashes, simhashes, st.binary(min_size=BINS, max_size=BINS), digests, digests),
    *(numbers, numbers, numbers, st.sampled_from([b"", bytes(4), bytes(range(40))])),
)
sightings = st.builds(
    Sighting,
    *(pages, texts, texts, texts, texts, st.just(1), st.floats(EARLIEST, LATEST), texts, texts, flags),
    redirects=st.lists(st.sampled_from(["http://a/", "http://b/"]), max_size=3).map(tuple),
    seen_on=st.none() | texts,
)
references = st.sampled_from([None, 1])


@st.composite
def seen_rows(draw: st.DrawFn) -> Row:
    """Return the second row of an index, whose first one it may refer to."""
    about: dict[str, Any] = {name: draw(references) for name in ("previous", "replaces", "represents")}
    if draw(flags):
        about |= {"canonical": 1, "canonical_url": "http://first/", "canonical_run": 1}
        about["standing"] = Standing(1, 1, is_elsewhere=True) if draw(flags) else None
    numbers = (draw(distances), draw(distances), draw(st.none() | st.floats(0, 1)))
    verdict = Verdict(draw(st.sampled_from(Reason)), draw(flags), *numbers, row=2, **about)
    return Row(2, draw(sightings), verdict, draw(st.sampled_from(Outcome)), draw(flags))


def typed(value: object) -> tuple[type, object]:
    return type(value), value


@given(row=seen_rows())
def test_what_is_written_is_read_again(row: Row) -> None:
    first = replace(row, id=1, sighting=replace(row.sighting, url="http://first/"))
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in SCHEMA[2]:
            connection.execute(statement)
        group = (row.sighting.kind, row.sighting.scope)
        connection.execute("INSERT INTO scopes (kind, scope) VALUES (?, ?)", group)
        for one in (first, row):
            filled, *values = values_of(one)
            connection.execute(insert(filled), (None, 1, *values))
        _, read = map(ROWS.read, connection.execute(ROWS.select + "ORDER BY p.id"))
        assert read == row
        (glance,) = connection.execute(GLANCES.select + "WHERE id = 2")
        seen = GLANCES.read(glance)
        assert [*map(typed, seen)] == [*map(typed, glance_of(row, seen.scope))]


def test_an_invalid_visit_is_found_by_its_run(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "pages.db") as index:
        for _ in range(2):
            run = index.runs.begin("s")
            index.store.connection.execute("INSERT INTO visits VALUES ('', 'a', ?, 0)", (run.id,))
        assert index.problems() == []
        index.store.connection.execute("UPDATE visits SET host = x'ff' WHERE run = 2")
        assert index.problems() == ["1 visits contain invalid values, the first is 2"]
