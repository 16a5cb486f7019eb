from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from dedup import DedupConfig
from dedup.archives import FILES, prints_of_files, rows_of, table_of
from dedup.cli import main
from dedup.model.errors import ConfigError, DedupError
from dedup.model.marks import Exceptions
from tests.archives.conftest import needs_spark
from tests.archives.corpora import CONFIG, corpus, printed, record, settings, write
from tests.archives.plain import Plain
from tests.files import formats
from tests.pages import text

pytestmark = [needs_spark, pytest.mark.slow]


class Killed(Exception):
    pass


def _die_once(marker: Path, batches: Iterable[pa.RecordBatch], settings: Any) -> Any:
    """Kill the worker that is the first to come here, in the middle of its work."""
    for batch in prints_of_files(batches, settings):
        yield batch
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def job(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plain]:
    """A job whose worker was killed once, and which was stopped and started again."""
    from dedup import spark_job as job

    folder = tmp_path_factory.mktemp("job")
    (folder / "in put").mkdir()
    pages = corpus(11, pages=100, hosts=3)
    for number in range(2):
        write(folder / "in put" / f"{number}.jsonl", pages[50 * number :][:50])
    seen: list[str] = []

    def tell(name: str, rows: int, seconds: float) -> None:
        seen.append(name)
        if seen == ["files", "prints", "copies", "buckets"]:
            raise Killed

    given = (spark, [str(folder / "in put")], str(folder / "out"), settings())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "prints_of_files", partial(_die_once, folder / "died"))
        with pytest.raises(Killed):
            job.run_job(*given, tell=tell)
        assert (folder / "died").exists()
    with pytest.raises(DedupError, match="other input or settings"):
        job.run_job(*given[:3], settings(replace(CONFIG, max_lost_words=8)))
    with pytest.raises(DedupError, match="other input or settings"):
        job.run_job(spark, [str(folder / "in put" / "0.jsonl")], *given[2:])
    summary = job.run_job(*given, tell=tell)
    assert seen[4:] == ["members", "edges", "dropped", "decisions", "kept", "verdicts"]
    plain = Plain(printed(folder / "in put"), CONFIG)
    assert (summary.pages, summary.dropped, summary.problems) == (100, len(plain.canonicals), 0)
    with pytest.raises(DedupError, match="finished job"):
        job.run_job(*given)
    return folder, plain


def test_says_what_the_plain_steps_say(job: tuple[Path, Plain]) -> None:
    folder, plain = job
    found = pyarrow.parquet.read_table(folder / "out" / "verdicts").to_pylist()
    rows = {(row["file"] << 40) + row["record"]: row for row in found}
    edges = {(row["a"], row["b"]): row for row in plain.edges}
    assert len(rows) == len(found) == 100
    for one in plain.prints:
        row, canonical = rows[one["id"]], plain.canonicals.get(one["id"])
        assert row["url"] == one["url"]
        if canonical is None:
            assert (row["verdict"], row["canonical_url"]) == ("kept", None)
            assert row["reason"] == ("not_judged" if one["same"] is None else "new")
            continue
        assert row["verdict"] == "dropped"
        assert row["reason"] in ("near_duplicate", "exact_duplicate")
        assert (row["canonical_file"], row["canonical_record"]) == (canonical >> 40, record(canonical))
        assert row["canonical_url"] == rows[canonical]["url"]
        if edge := edges.get((canonical, one["id"])):
            assert [row[name] for name in edge if name not in "ab"] == list(edge.values())[2:]
        else:
            assert row["lost"] is not None


def test_keeps_the_records_that_are_no_copies(job: tuple[Path, Plain]) -> None:
    folder, plain = job
    kept = pyarrow.parquet.read_table(folder / "out" / "kept").to_pylist()
    expected: list[dict[str, Any]] = []
    for number in range(2):
        path = folder / "in put" / f"{number}.jsonl"
        for place, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            if (number << 40) + place not in plain.canonicals:
                expected.append({"file": str(path), "record": line})
    assert sorted(kept, key=lambda row: row["record"]) == sorted(expected, key=lambda row: row["record"])


def test_a_folder_that_is_none_of_ours_is_left_alone(spark: Any, tmp_path: Path) -> None:
    from dedup.spark_job import run_job

    path = write(tmp_path / "x.jsonl", corpus(1, 3))
    for name in ("mine", "files", "kept"):
        mine = tmp_path / name / name / "mine"
        mine.parent.mkdir(parents=True)
        mine.touch()
        for overwrite in (False, True):
            with pytest.raises(DedupError, match="no output of"):
                run_job(spark, [str(path)], str(mine.parent.parent), settings(), overwrite=overwrite)
        assert mine.exists()


def test_files_that_only_spark_can_open_come_with_their_content(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dedup import spark_job as job

    for number in range(2):
        write(tmp_path / f"{number}.jsonl", corpus(number, 8))
    monkeypatch.setattr(job, "HERE", "elsewhere:")
    found = job.found_files(spark, [f"file://{tmp_path}"], "")
    listed = spark.createDataFrame(table_of(found, job.LISTED))
    files = job.files_of(listed).orderBy("number").toArrow()
    assert files.schema.names == FILES.names
    assert [len(row["content"]) > 0 for row in files.to_pylist()] == [True, True]
    assert list(rows_of(prints_of_files(files.to_batches(), settings()))) == printed(tmp_path)


@pytest.mark.parametrize("names", [["a.jsonl", "b.warc"], ["a.csv"], ["a.txt"], []])
def test_one_format_is_asked_for(spark: Any, names: list[str], tmp_path: Path) -> None:
    from dedup.spark_job import found_files

    (tmp_path / "in").mkdir()
    for name in names:
        (tmp_path / "in" / name).write_text("x")
    with pytest.raises(DedupError, match="one format"):
        found_files(spark, [str(tmp_path / "in")], "")
    with pytest.raises(DedupError, match="cannot be read"):
        found_files(spark, [str(tmp_path / "nothing")], "")


def test_marks_are_refused(spark: Any, tmp_path: Path) -> None:
    from dedup.spark_job import run_job

    marked = DedupConfig(exceptions=Exceptions(different=(("http://a", "http://b"),)))
    with pytest.raises(ConfigError, match="Spark"):
        run_job(spark, [str(tmp_path)], str(tmp_path / "out"), settings(marked))


class Unstopped:
    """The session of all tests, which no command ends."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def stop(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def test_the_command_judges_archives(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    monkeypatch.setattr("dedup.cli.spark.spark_session", lambda _: Unstopped(spark))
    pages = [(f"http://a/{n}", f"<p>{text(n % 4)}</p>") for n in range(6)]
    formats.warc(tmp_path / "x.warc", pages)
    command = ["spark", "x.warc", "--output", "out"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("6 pages judged, 2 of them copies; the others are in out/kept.\n")
    assert "prints: 6 rows" in done.stderr
    assert sorted(path.name for path in Path("out").iterdir()) == ["files", "kept", "verdicts"]
    kept = pyarrow.parquet.read_table("out/kept")["record"].to_pylist()
    assert b"".join(kept) == b"".join(_without(Path("x.warc").read_bytes(), ("a/4", "a/5")))
    again = CliRunner().invoke(main, command)
    assert (again.exit_code, "--overwrite" in again.output) == (1, True)
    table = pyarrow.table({"url": [url for url, _ in pages], "html": [html for _, html in pages]})
    pyarrow.parquet.write_table(table, "x.parquet")
    done = CliRunner().invoke(main, ["spark", "x.parquet", "--output", "out", "--overwrite"])
    assert done.exit_code == 0, done.output
    assert pyarrow.parquet.read_table("out/kept").to_pylist() == table.slice(0, 4).to_pylist()
    (files,) = pyarrow.parquet.read_table("out/files").to_pylist()
    assert (files["number"], files["path"]) == (0, f"file:{tmp_path}/x.parquet")


def _without(archive: bytes, pages: tuple[str, ...]) -> list[bytes]:
    records = [b"WARC/1.0" + record for record in archive.split(b"WARC/1.0")[1:]]
    return [
        record
        for record in records
        if b"WARC-Type: response" not in record
        or not any(f"{one}\r".encode() in record for one in pages)
    ]
