from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from dedup import SQLiteIndex
from dedup.archives import FILES, batched, kept_records, kept_rows, prints_of_files, rows_of
from dedup.cli import main
from tests.archives.corpora import RULE, corpus, file_row, printed, settings
from tests.files import formats
from tests.files.formats import WRITERS

NAMES = [name for name in WRITERS if name.split(".", 1)[-1] in ("jsonl", "parquet", "warc", "warc.gz")]


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def of_file(path: Path, form: str, content: bytes | None = None) -> list[pa.RecordBatch]:
    return list(batched([file_row(path, form, content=content)], FILES))


def kept_file(path: Path, form: str, dropped: list[int]) -> list[pa.RecordBatch]:
    row = {**file_row(path, form), "dropped": dropped}
    return list(batched([row], FILES.append(pa.field("dropped", pa.list_(pa.int64())))))


@pytest.mark.parametrize("name", NAMES)
def test_keeps_the_records_that_are_no_copies(name: str, tmp_path: Path) -> None:
    path, form = tmp_path / name, name.split(".")[1]
    WRITERS[name](path, corpus(2, 60))
    output = tmp_path / f"kept.{name.split('.', 1)[1]}"
    done = run("add", path, "-o", output, "--index", "x.db", "--jobs", 1)
    assert done.exit_code == 0, done.output
    with SQLiteIndex("x.db") as index:
        seen = [row.verdict.kept for row in index.rows()]
    pages = [row["id"] for row in printed(path) if row["is_page"]]
    dropped = [number for number, is_kept in zip(pages, seen, strict=True) if not is_kept]
    assert dropped
    files = kept_file(path, form, dropped)
    if form == "parquet":
        schema = pyarrow.parquet.read_schema(path)
        kept = pa.Table.from_batches(kept_rows(files, RULE, schema))
        assert kept.to_pylist() == pyarrow.parquet.read_table(output).to_pylist()
    else:
        records = b"".join(one["record"] for one in rows_of(kept_records(files, RULE)))
        assert records == output.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_content_that_came_along_is_the_same(name: str, tmp_path: Path) -> None:
    path, form = tmp_path / name, name.split(".")[1]
    WRITERS[name](path, corpus(2, 20))
    there = list(rows_of(prints_of_files(of_file(path, form), settings())))
    content = path.read_bytes()
    path.rename(tmp_path / "gone")
    files = of_file(tmp_path / "elsewhere" / name, form, content)
    assert list(rows_of(prints_of_files(files, settings()))) == there


# The command


@pytest.mark.slow
def test_no_java_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = run("spark", "x.jsonl", "-o", "out")
    assert done.exit_code == 1
    assert done.output.startswith("Error: Spark needs Java 17")


@pytest.mark.parametrize("missing", ["pyspark", "pandas"])
def test_no_pyspark_is_one_sentence(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    done = run("spark", "x.jsonl", "-o", "out")
    assert done.exit_code == 1
    assert 'pip install "scrapy-dedup[spark]"' in done.output
    assert len(done.output.splitlines()) == 1


@pytest.mark.parametrize("output", ["x.jsonl", "x.db", "in", "in/out", "note"])
def test_no_output_takes_the_place_of_anything(output: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "note").write_text("mine")
    for path in (tmp_path / "x.jsonl", tmp_path / "in" / "y.jsonl"):
        formats.jsonl(path, corpus(1, 3))
    run("add", "x.jsonl", "--index", "x.db")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = run("spark", "x.jsonl", "in", "-o", output)
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
