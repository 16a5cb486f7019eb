from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from dedup.archives import session, steps
from dedup.archives.columns import PRINTS
from dedup.archives.greedy import decided
from dedup.archives.job import run_job
from dedup.archives.reading import prints, prints_of_files
from dedup.archives.state import FILE, OWN, State, resumed
from dedup.cli import main
from dedup.files.contexts import read_sites
from dedup.values.errors import DedupError
from tests.archives.conftest import needs_spark
from tests.archives.corpora import CONFIG, corpus, printed, record, settings, write
from tests.archives.plain import Plain, nearer
from tests.feeds import formats
from tests.pages import text

pytestmark = [needs_spark, pytest.mark.slow]


class Killed(Exception):
    pass


def _die_once(marker: Path, batches: Iterable[pa.RecordBatch], given: Any) -> Any:
    """Kill the worker that is the first to come here, in the middle of its work."""
    for batch in prints_of_files(batches, given):
        yield batch
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def _stop_after(stage: str, seen: list[str], name: str, rows: int, seconds: float) -> None:
    seen.append(name)
    if name == stage:
        raise Killed


@pytest.fixture(scope="module")
def job(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str], Plain]]:
    """A job whose worker was killed once, and which was stopped and started again."""
    with pytest.MonkeyPatch.context() as patch:
        from dedup.archives import flow

        patch.setattr(steps, "WINDOWS", (12,))  # every turn takes some stages
        patch.setattr(flow, "NEAREST", 1)
        yield _done(spark, tmp_path_factory)


def _done(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], Plain]:
    from dedup.archives import flow

    folder = tmp_path_factory.mktemp("job")
    (folder / "in").mkdir()
    pages = corpus(11, pages=100, hosts=3)
    for number in range(2):
        write(folder / "in" / f"{number}.jsonl", pages[50 * number :][:50])
    seen: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            flow,
            "printed",
            lambda files, given: flow.mapped(
                files, partial(_die_once, folder / "died", given=given), PRINTS
            ),
        )
        with pytest.raises(Killed):
            first = partial(_stop_after, "pairs-0", seen)
            run_job(spark, [str(folder / "in")], str(folder / "out"), settings(), tell=first)
        assert (folder / "died").exists()
    again: list[str] = []
    summary = run_job(
        spark,
        [str(folder / "in")],
        str(folder / "out"),
        settings(),
        tell=partial(_stop_after, "", again),
    )
    assert seen == ["prints", "copies", "pairs-0"]
    assert again[0] == "context"
    assert not set(again) & set(seen)
    plain = Plain(printed(folder / "in"), CONFIG)
    assert (summary.pages, summary.dropped) == (100, len(plain.dropped))
    return folder, again, plain


def test_says_what_the_plain_steps_say(job: tuple[Path, list[str], Plain]) -> None:
    folder, _, plain = job
    found = pyarrow.parquet.read_table(folder / "out" / "verdicts").to_pylist()
    rows = {(row["file"], row["record"]): row for row in found}
    assert len(rows) == len(found) == 100
    assert read_sites(folder / "out" / "context").name == plain.sites.name
    for number, row in ((one["id"], rows[one["id"] >> 40, record(one["id"])]) for one in plain.prints):
        edge = plain.canonicals.get(number)
        assert (row["verdict"] == "dropped") == (number in plain.dropped)
        if edge is None:
            assert row["reason"] in ("new", "not_judged")
            continue
        assert (row["canonical_file"], row["canonical_record"]) == (edge["a"] >> 40, record(edge["a"]))
        for name in ("reason", "similarity", "lost", "missing", "content_distance"):
            assert row[name] == edge[name], name
        assert nearer(edge)


def test_keeps_the_records_that_are_no_copies(job: tuple[Path, list[str], Plain]) -> None:
    folder, _, plain = job
    kept = pyarrow.parquet.read_table(folder / "out" / "kept").to_pylist()
    expected: list[dict[str, Any]] = []
    for number in range(2):
        path = folder / "in" / f"{number}.jsonl"
        for place, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            if (number << 40) + place not in plain.dropped:
                expected.append({"file": str(path), "record": line})
    assert sorted(kept, key=lambda row: row["record"]) == sorted(expected, key=lambda row: row["record"])


def test_a_finished_job_is_not_done_again(spark: Any, job: tuple[Path, list[str], Plain]) -> None:
    folder, _, _ = job
    given = ([str(folder / "in")], str(folder / "out"))
    with pytest.raises(DedupError, match="finished job"):
        run_job(spark, *given, settings())
    state = folder / "out" / "job.json"
    text = state.read_text()
    state.write_text(text.replace('"is_finished": true', '"is_finished": false'))
    with pytest.raises(DedupError, match="the settings of the interrupted job"):
        run_job(spark, *given, settings(replace(CONFIG, min_similarity=0.8)))
    with pytest.raises(DedupError, match="the input of the interrupted job"):
        run_job(spark, [str(folder / "in" / "0.jsonl")], given[1], settings())
    state.write_text("{}")
    with pytest.raises(DedupError, match="damaged"):
        run_job(spark, *given, settings())
    state.write_text(text)


def test_a_folder_that_is_none_of_ours_is_left_alone(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    path = write(tmp_path / "x.jsonl", corpus(1, 3))
    for overwrite in (False, True):
        with pytest.raises(DedupError, match="no output of"):
            run_job(spark, [str(path)], str(tmp_path), settings(), overwrite=overwrite)
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize(("driver_pairs", "rounds"), [(0, 99), (40, 1)])
def test_rounds_decide_as_one_after_the_other(
    spark: Any, tmp_path: Path, driver_pairs: int, rounds: int
) -> None:
    from dedup.archives.flow import Archive

    chance = random.Random(3)
    edges = {tuple(sorted(chance.sample(range(60), 2))) for _ in range(70)}
    edges |= {(number, number + 1) for number in range(100, 103)}
    a, b = np.array(sorted(edges), np.int64).T
    waiting = [int(b[5]), int(b[-1])]
    state = State("", "", {}, 0, [])
    archive = Archive(spark, str(tmp_path), state, settings(), lambda *_: None, driver_pairs, rounds)
    archive._edges.append(spark.createDataFrame(pa.table({"a": a, "b": b})))
    archive._decide(0, archive._numbers(waiting))
    found = sorted(row["id"] for row in archive.dropped().collect())
    assert found == decided(a, b, waiting).dropped.tolist()
    assert len(state.done) > 2
    archive._decide(1, archive._numbers(()))
    found = sorted(row["id"] for row in archive.dropped().collect())
    assert found == decided(a, b).dropped.tolist()


def test_pages_of_an_own_job_are_the_same(spark: Any, tmp_path: Path) -> None:
    from dedup.archives.flow import mapped

    pages = corpus(4, 20)
    rows = [(number, url, html) for number, (url, html) in enumerate(pages)]
    table = spark.createDataFrame(rows, "id long, url string, html string")
    found = mapped(table, partial(prints, settings=settings()), PRINTS).orderBy("id").toArrow()
    assert found.to_pylist() == printed(write(tmp_path / "x.jsonl", pages))


def test_a_remote_input_comes_with_its_content(spark: Any, tmp_path: Path) -> None:
    from dedup.archives import flow
    from dedup.archives.job import files_of, found_input
    from dedup.archives.storage import Storage

    for number in range(2):
        write(tmp_path / f"{number}.jsonl", corpus(number, 8))
    found = found_input(Storage(spark), [f"file://{tmp_path}"], settings(), "")
    assert [form for _, form in found.files] == ["jsonl", "jsonl"]
    files = files_of(spark, found.files, is_remote=found.is_remote)
    rows = flow.printed(files, settings()).orderBy("id").toArrow().to_pylist()
    assert rows == printed(tmp_path)


class Cut:
    """A file system whose process is killed at the call of *name*."""

    def __init__(self, system: Any, name: str) -> None:
        self._system = system
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            raise Killed
        return getattr(self._system, name)


@pytest.mark.parametrize("call", ["create", "delete", "rename"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_job_killed_while_it_says_how_far_it_is_goes_on(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, overwrite: bool
) -> None:
    from dedup.archives.storage import Storage

    storage, system_of = Storage(spark), Storage._system
    folder, place = str(tmp_path), f"{tmp_path}/{FILE}"
    state = State("settings", "input", {}, 0, ["a.warc"], started=1.0)
    for before in ([], ["prints"]):
        if before:
            storage.write(place, replace(state, done=before).text)
            (tmp_path / "work").mkdir()
        monkeypatch.setattr(Storage, "_system", lambda self, path: Cut(system_of(self, path), call))
        with pytest.raises(Killed):
            storage.write(place, replace(state, done=[*before, "bands"]).text)
        monkeypatch.undo()
        found = resumed(storage, folder, state, overwrite=overwrite)
        assert found.done in ([[]] if overwrite or not before else [before, [*before, "bands"]])


class Unstopped:
    """The session of all tests, which no command ends."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def stop(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def test_the_command_judges_archives_like_an_index(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    monkeypatch.setattr(session, "spark_session", lambda *_: Unstopped(spark))
    pages = [(f"http://a/{n}", f"<p>{text(n % 4)}</p>") for n in range(6)]
    formats.warc(tmp_path / "x.warc", pages)
    formats.jsonl(tmp_path / "y.jsonl", pages[:1])
    seeded = ("-s", "DEDUP_RECIPE=default,hash_seed=7")
    CliRunner().invoke(main, ["add", "y.jsonl", "--index", "x.db", *seeded])
    command = ["spark", "x.warc", "--output", "out", "--like", "x.db"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("6 pages judged, 2 of them copies; the others are in out/kept.\n")
    assert "prints: 6 rows" in done.stderr
    state = json.loads(Path("out/job.json").read_text())
    assert (state["seed"], state["recipe"]["hash_seed"]) == (7, "7")
    assert sorted(path.name for path in Path("out").iterdir()) == sorted({*OWN, FILE} - {"work"})
    kept = pyarrow.parquet.read_table("out/kept")["record"].to_pylist()
    assert b"".join(kept) == b"".join(_without(Path("x.warc").read_bytes(), ("a/4", "a/5")))
    again = CliRunner().invoke(main, command)
    assert (again.exit_code, "--overwrite" in again.output) == (1, True)


def _without(archive: bytes, pages: tuple[str, ...]) -> list[bytes]:
    records = [b"WARC/1.0" + record for record in archive.split(b"WARC/1.0")[1:]]
    return [
        record
        for record in records
        if b"WARC-Type: response" not in record
        or not any(f"{one}\r".encode() in record for one in pages)
    ]
