from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.files.marks_file import read_marks, with_marks, write_marks
from dedup.model.errors import ConfigError
from dedup.model.marks import COPY, DIFFERENT, Marks
from dedup.settings import DedupSettings

PAIRS = [(f"http://a/{n}", f"http://a/{n % 3}") for n in range(3, 9)]
SAID = st.lists(st.tuples(st.sampled_from(PAIRS), st.sampled_from([DIFFERENT, COPY, ""])))


@given(SAID)
def test_what_was_said_last_holds_and_nothing_else_is_touched(
    said: list[tuple[tuple[str, str], str]],
) -> None:
    stranger = ("copy", "http://z/2", "http://z/1", "a note")
    marks = Marks(("says", "page", "other", "note"), (stranger,))
    for (page, other), says in said:
        marks = marks.with_mark({"page": page, "other": other, "says": says})
    assert marks.rows[0] == stranger
    last = {pair: says for pair, says in dict(said).items() if says}
    assert {(row[1], row[2]): row[0] for row in marks.rows[1:]} == last


def test_a_pair_is_one_whichever_page_was_kept_and_however_its_urls_are_written() -> None:
    marks = Marks(("page", "other", "says"), (("http://a/?y=2&x=1", "http://A/2", "copy"),))
    now = marks.with_mark({"page": "http://a/2", "other": "http://a/?x=1&y=2", "says": DIFFERENT})
    assert now.rows == (("http://a/2", "http://a/?x=1&y=2", DIFFERENT),)
    with pytest.raises(ConfigError, match="must be one of"):
        marks.with_mark({"page": "http://a/1", "other": "http://a/2", "says": "perhaps"})


def test_a_file_is_read_and_written_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    marks = Marks(("note", "page", "other", "says"), (('a "b"\n,', "http://a/1", "http://a/2", "copy"),))
    write_marks(path, marks)
    found, exceptions = read_marks(path)
    assert (found, len(exceptions)) == (marks, 1)


def test_marks_beside_an_index_are_obeyed_and_a_bad_file_is_one_error(tmp_path: Path) -> None:
    settings, marks = DedupSettings(), tmp_path / "pages.marks.csv"
    assert with_marks(settings, tmp_path / "pages.db") == settings
    write_marks(marks, Marks(("page", "other", "says"), (("http://a/1", "http://a/2", "copy"),)))
    assert len(with_marks(settings, tmp_path / "pages.db").config.exceptions) == 1
    marks.write_text("page,other,says\nhttp://a/1,http://a/2,maybe\n", "utf-8")
    with pytest.raises(ConfigError, match=r"pages\.marks\.csv.*, line 2: 'maybe' must be one of"):
        with_marks(settings, tmp_path / "pages.db")
