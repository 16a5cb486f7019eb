from pathlib import Path

import pytest

from dedup.files.marks_file import read_marks, with_marks, write_marks
from dedup.model.errors import ConfigError
from dedup.model.marks import Marks
from dedup.settings import DedupSettings


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
