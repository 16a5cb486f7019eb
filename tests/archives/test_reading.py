from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from dedup.archives import session
from dedup.archives.columns import FILES, batch_of, rows_of
from dedup.archives.job import suited
from dedup.archives.reading import prints_of_files, require_form
from dedup.archives.results import DROPPED, kept_records, kept_rows
from dedup.cli import main
from dedup.files.feeds import find_feeds
from dedup.recipes.config import DedupConfig
from dedup.values.errors import ConfigError, DedupError
from dedup.values.exceptions import Exceptions
from tests.archives.corpora import CONFIG, RULE, corpus, printed, record, settings
from tests.archives.plain import Plain
from tests.contexts import write_sites
from tests.feeds import formats
from tests.feeds.formats import WRITERS

NAMES = [name for name in WRITERS if name.split(".", 1)[-1] in ("jsonl", "parquet", "warc", "warc.gz")]
MINHASH = ("-s", "DEDUP_RECIPE=candidates=minhash,max_structure_candidates=0")


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def file_row(path: Path, form: str, **more: Any) -> pa.RecordBatch:
    row = {"number": 0, "path": str(path), "form": form, "content": None, **more}
    if DROPPED not in more:
        return batch_of([row], FILES)
    return batch_of([row], FILES.append(pa.field(DROPPED, pa.list_(pa.int64()))))


@pytest.mark.parametrize("name", NAMES)
def test_keeps_what_adding_keeps(name: str, tmp_path: Path) -> None:
    path, form = tmp_path / name, name.split(".")[1]
    WRITERS[name](path, corpus(2, 60))
    found = Plain(printed(path), CONFIG)
    assert found.dropped
    write_sites(found.sites, tmp_path / "sites.parquet")
    output = tmp_path / f"kept.{name.split('.', 1)[1]}"
    done = run(
        *("add", path, "-o", output, "--index", "x.db", "--jobs", 1, *MINHASH),
        *("--context", tmp_path / "sites.parquet"),
    )
    assert done.exit_code == 0, done.output
    row = file_row(path, form, dropped=sorted(found.dropped))
    if form == "parquet":
        schema = pyarrow.parquet.read_schema(path)
        kept = pa.Table.from_batches(kept_rows([row], RULE, schema))
        assert kept.to_pylist() == pyarrow.parquet.read_table(output).to_pylist()
    else:
        records = b"".join(one["record"] for one in rows_of(kept_records([row], RULE)))
        expected = output.read_bytes()
        assert records == expected


@pytest.mark.parametrize("name", NAMES)
def test_content_that_came_along_is_the_same(name: str, tmp_path: Path) -> None:
    path, form = tmp_path / name, name.split(".")[1]
    WRITERS[name](path, corpus(2, 20))
    there = list(rows_of(prints_of_files([file_row(path, form)], settings())))
    content = path.read_bytes()
    path.rename(tmp_path / "gone")
    row = file_row(tmp_path / "elsewhere" / name, form, content=content)
    assert list(rows_of(prints_of_files([row], settings()))) == there


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    formats.jsonl(path, corpus(1, 3))
    path.write_bytes(b"{no}\n" + path.read_bytes() + b'{"url": "http://a", "html": ""}\n[1]\n')
    rows = list(rows_of(prints_of_files([file_row(path, "jsonl")], settings())))
    assert [bool(row["problem"]) for row in rows] == [True, False, False, False, False, True]
    assert all(row["is_page"] for row in rows)
    assert rows[0]["problem"].startswith(f"{path}, line 1: is not valid JSON")
    assert [record(row["id"]) for row in rows] == list(range(6))
    assert [row["kind"] for row in rows] == ["", "item", "item", "item", "", ""]


def test_a_file_that_ends_early_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    formats.jsonl(path, corpus(1, 30))
    path.write_bytes(path.read_bytes()[:-20])
    rows = list(rows_of(prints_of_files([file_row(path, "jsonl")], settings())))
    assert rows[-1]["is_page"] is None
    assert "cannot be read to its end" in rows[-1]["problem"]
    (none,) = rows_of(prints_of_files([file_row(tmp_path / "no.jsonl", "jsonl")], settings()))
    assert none["is_page"] is None


def test_a_damaged_record_of_an_archive_is_in_no_output(tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    formats.warc(path, corpus(1, 4))
    content = path.read_bytes()
    path.write_bytes(content[:400] + content[500:])
    rows = list(rows_of(prints_of_files([file_row(path, "warc")], settings())))
    assert [row["is_page"] for row in rows].count(False) == 1
    kept = list(rows_of(kept_records([file_row(path, "warc", dropped=[])], RULE)))
    assert all(one["record"].startswith(b"WARC/1.0") for one in kept)


@pytest.mark.parametrize("names", [["a.jsonl", "b.warc"], ["a.csv"], []])
def test_one_format_is_asked_for(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_text("x")
    with pytest.raises(DedupError, match=r"one format|not read on Spark"):
        require_form(find_feeds([tmp_path / name for name in names], RULE).feeds)


def test_what_spark_cannot_do_is_refused() -> None:
    assert suited(DedupConfig()).candidates == "minhash"
    pair = (("http://a", "http://b"),)
    for config in (
        DedupConfig(verifier="distance"),
        DedupConfig(canonical_link="decide"),
        DedupConfig(exceptions=Exceptions(different=pair)),
    ):
        with pytest.raises(ConfigError, match="Spark"):
            suited(config)


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


@pytest.mark.parametrize(
    "recipe",
    ["both", pytest.param("candidates=simhash", marks=pytest.mark.slow), "default,candidates=simhash"],
)
def test_other_candidates_are_refused(recipe: str) -> None:
    done = run("spark", "x.jsonl", "-o", "out", "-s", f"DEDUP_RECIPE={recipe}")
    assert done.exit_code == 1
    assert "Spark" in done.output


def test_another_recipe_than_that_of_the_index_is_refused(tmp_path: Path) -> None:
    formats.jsonl(tmp_path / "x.jsonl", corpus(1, 3))
    run("add", "x.jsonl", "--index", "x.db")
    done = run(
        "spark", "x.jsonl", "-o", "out", "--like", "x.db", "-s", "DEDUP_RECIPE=terms=character_ngrams"
    )
    assert done.exit_code == 1
    assert "does not go with the fingerprints in" in done.output


def test_a_java_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert session.has_java()


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
