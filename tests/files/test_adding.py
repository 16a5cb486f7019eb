import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter, deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup import (
    DedupConfig,
    Detector,
    Fingerprint,
    MemoryIndex,
    Page,
    SQLiteIndex,
    fingerprint,
    processes,
)
from dedup.files import adding as adding_module
from dedup.files.adding import Adding, find_feeds
from dedup.index import Index
from dedup.model.marks import Exceptions, Said
from dedup.reading.fields import FieldRule
from dedup.reading.noise import Gap, place_name
from dedup.settings import DedupSettings
from tests.files import formats
from tests.files.formats import WRITERS
from tests.rule.test_site import words
from tests.support.budget import examples
from tests.support.commands import run
from tests.support.crawling import ROOT, bounds, wait_until
from tests.support.pages import edited, text

html = "<html><body><h1>t</h1><p>{}</p></body></html>".format
CONTENTS = [text(1), text(2), text(1), edited(2, 2), text(3)]
PAGES = [(f"http://a/{number}", html(content)) for number, content in enumerate(CONTENTS, 1)]
UNIQUE = [PAGES[0], PAGES[1], PAGES[4]]


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours has settings of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)


add = partial(run, "add")


def add_here(*arguments: object) -> Result:
    return add(*arguments, "--index", "x.db")


def counts(*arguments: object, names: str, code: int = 0) -> list[int]:
    done = add_here(*arguments, "--json")
    assert done.exit_code == code, done.output
    summary = json.loads(done.stdout)
    return [summary[name] for name in names.split()]


def rows(index: Path) -> list[tuple[object, ...]]:
    """Return all that an index knows of its pages, but for the time."""
    with SQLiteIndex(index) as opened:
        return [(row.id, replace(row.sighting, time=0.0), row.verdict) for row in opened.rows()]


def pages_in(path: Path) -> Any:
    """Return what records a file or folder has, with the header of a table."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines(keepends=True)


@pytest.mark.parametrize("name", WRITERS)
def test_the_output_has_all_that_is_no_copy_as_it_was(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name, PAGES)
    output = tmp_path / f"unique{name[5:].removesuffix('.parquet')}"  # a list
    names = "seen kept dropped bad new near_duplicate exact_duplicate not_judged"
    assert counts(name, "--output", output, names=names) == [5, 3, 2, 0, 3, 1, 1, 0]
    expected = tmp_path / f"expected{name[5:]}"
    if "warc" in name:  # requests stay, and what is about the archive
        formats.warc(expected, PAGES, left_out=[page for page in PAGES if page not in UNIQUE])
    elif name == "pages":
        formats.html(expected, UNIQUE)
        kept = sorted(file.relative_to(expected).as_posix() for file in expected.rglob("*.html"))
        assert output.read_text().splitlines() == [f"pages/{file}" for file in kept]
        return
    elif name == "pages.parquet":
        assert output.read_text().splitlines() == [f"{name} {number}" for number in (1, 2, 5)]
        return
    else:
        WRITERS[name](expected, UNIQUE)
    assert pages_in(output) == pages_in(expected)


PLACE = Said("", "", "different", "a", place_name([Gap("html>body>p", ("feed0000",), ("$",))]))
SAID = [Said("http://a/2", "http://a/0", "copy"), Said("http://a/3", "http://a/1", "different"), PLACE]


@pytest.mark.slow
@given(
    numbers=st.lists(st.integers(0, 9), min_size=8, max_size=24),
    name=st.sampled_from([*WRITERS]),
    behind=st.sampled_from([b"", b'{\n{"n": 1}\n"\n']),
    how=st.sampled_from([{}, {"store_pages": True}, {"store_first": 3}, {"unchanged": "drop"}]),
    said=st.lists(st.sampled_from(SAID), unique=True),
)
@settings(max_examples=examples(60))
def test_any_number_of_processes_says_the_same(
    tmp_path_factory: Any, numbers: list[int], name: str, behind: bytes, how: Any, said: list[Said]
) -> None:
    feed, done = tmp_path_factory.mktemp("x") / name, []
    content = [html(edited(number // 2, number % 2)) for number in numbers]
    WRITERS[name](feed, [(f"http://a/{at}", one) for at, one in enumerate(content)])
    if feed.is_file():
        feed.write_bytes(feed.read_bytes() + behind)
    chosen = DedupSettings(config=DedupConfig(**how, exceptions=Exceptions.of(said)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "FEW", 1)
        patch.setattr(adding_module, "BATCH_RECORDS", 1)
        patch.setattr("multiprocessing.connection.Connection.poll", lambda _: True)  # waits for them
        patch.chdir(feed.parent)  # names of files are those of the place where they begin
        for jobs in (1, 3):
            told, inputs = list[str](), find_feeds([Path(name)], FieldRule())
            output, path = feed.with_name(f"{jobs}"), feed.with_name(f"{jobs}.db")
            with SQLiteIndex(path) as index:
                adding = Adding(index, inputs, chosen, jobs=jobs, output=output, tell=told.append)
                adding.work()
                stored = index.store.pages([row.id for row in index.rows()])
            known = rows(path)
            done.append((known, stored, told, inputs.troubles, adding.counts, output.read_bytes()))
    assert done[0] == done[1]


def test_results_in_another_order_are_found(tmp_path_factory: Any, monkeypatch: Any) -> None:
    law: Any = test_any_number_of_processes_says_the_same
    monkeypatch.setattr(processes, "deque", type("Swapped", (deque,), {"popleft": deque.pop}))
    with pytest.raises(AssertionError):
        law.hypothesis.inner_test(tmp_path_factory, [*range(8)] * 2, "pages.csv", b"", {}, [])


def pass_until(index: Index, feed: Path, output: Path, calls: int, config: DedupConfig) -> bool:
    """Go through *feed*, and return whether to its end: until the index was asked about so many pages, then fail in the middle."""
    find_or_add, left = index.ledger.find_or_add, iter(range(calls))

    def failing(*arguments: Any, **options: Any) -> Any:
        if next(left, None) is None:
            raise ArithmeticError
        return find_or_add(*arguments, **options)

    adding = Adding(index, find_feeds([feed], FieldRule()), DedupSettings(config=config), output=output)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index.ledger, "find_or_add", failing)
        try:
            adding.work()
        except ArithmeticError:
            assert not output.exists()
            return False
    return True


@given(
    numbers=st.lists(st.integers(0, 9), min_size=1, max_size=24),
    size=st.integers(1, 8),
    breaks=st.lists(st.integers(0, 12), max_size=4),
    unchanged=st.sampled_from(["keep", "drop"]),
)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_breaks_in_the_middle_begins_anew_and_lacks_nothing(
    tmp_path_factory: Any, numbers: list[int], size: int, breaks: list[int], unchanged: str
) -> None:
    folder = tmp_path_factory.mktemp("x")
    feed, output = folder / "a.jsonl", folder / "b.jsonl"
    found = [(f"http://a/{at}", html(edited(n // 2, n % 2))) for at, n in enumerate(numbers)]
    records = [  # 9 is a damaged one
        json.dumps({"url": url, "html": markup}) if n < 9 else f"{{ {url}"
        for n, (url, markup) in zip(numbers, found, strict=True)
    ]
    feed.write_text("".join(f"{record}\n" for record in records))
    with pytest.MonkeyPatch.context() as patch, MemoryIndex() as index, MemoryIndex() as single:
        config = DedupConfig(unchanged=unchanged)
        detector = Detector(single, config)
        kept = [
            record
            for n, record, (url, markup) in zip(numbers, records, found, strict=True)
            if n == 9 or detector.check(Page.from_html(markup, url=url), kind="item").kept
        ]
        detector.close()
        patch.setattr(adding_module, "BATCH_RECORDS", size)
        for calls in (*breaks, len(numbers)):
            if pass_until(index, feed, output, calls, config):
                break
        last = [row for row in index.rows() if row.sighting.run == len(index.runs.all())]
        said = [[(it.sighting.url, it.verdict.kept) for it in found] for found in (last, single.rows())]
        assert said[0] == said[1]
    assert output.read_text().splitlines() == kept


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    code = "import sys; from dedup.cli import main; main()"
    command = [sys.executable, "-c", code, "add", *(str(argument) for argument in arguments)]
    how: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(command, env=environment, start_new_session=True, **how)


@pytest.mark.slow
def test_commands_at_the_same_time_keep_each_text_once(tmp_path: Path) -> None:
    commands = []
    for part in "ab":
        feed = tmp_path / f"{part}.jsonl"
        formats.jsonl(feed, [(f"http://{part}/{n}", html(text(n))) for n in range(90)])
        settings = ("-s", "DEDUP_SCOPE=global", "-s", "DEDUP_CRAWL=all")
        commands.append(start(feed, "--index", tmp_path / "x.db", *settings))
    told = "".join("".join(command.communicate(timeout=60)) for command in commands)
    assert "kept twice" not in told
    with SQLiteIndex(tmp_path / "x.db") as index:
        kept = Counter(row.verdict.kept for row in index.rows())
    assert kept == {True: 90, False: 90}, told


def processes_of(session: int) -> list[int]:
    """Return the processes of a *session* that live, the first one first."""
    found = list[tuple[int, int]]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, *fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == session and state != "Z":
                found.append((int(fields[18]), int(stat.parent.name)))
    return [number for _, number in sorted(found)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed elsewhere")
@pytest.mark.parametrize(("killed", "code"), [("SIGINT", 1), ("SIGKILL", -signal.SIGKILL), ("other", 1)])
def test_a_killed_command_begins_anew_and_lacks_nothing(tmp_path: Path, killed: str, code: int) -> None:
    feed, index, output = tmp_path / "a.jsonl", tmp_path / "x.db", tmp_path / "unique.jsonl"
    # Every third is a copy of an earlier one.
    said = (text(n, 60) if n % 3 else edited(max(0, n - 4), 1, 60) for n in range(2500))
    formats.jsonl(feed, [(f"http://a/{n}", html(one)) for n, one in enumerate(said)])
    arguments = (feed, "--index", index, "--output", output, "--jobs", 2, "-s", "DEDUP_UNCHANGED=drop")
    process = start(*arguments)
    wait_until(lambda: len(processes_of(process.pid)) == 4)  # one cleans up behind the others
    first, *_, last = processes_of(process.pid)
    sign = signal.SIGINT if killed == "SIGINT" else signal.SIGKILL
    os.kill({"SIGINT": -first, "SIGKILL": first, "other": last}[killed], sign)  # -first: all of them
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    assert "Traceback" not in stdout + stderr
    assert ("try fewer --jobs" in stderr) == (killed == "other")
    wait_until(lambda: not processes_of(process.pid))
    assert not output.exists()
    assert 0 < len(rows(index)) < 2500
    assert json.loads(add(*arguments, "--json").stdout)["records"] == 2500
    add(feed, "--index", tmp_path / "y.db", "--output", tmp_path / "y.jsonl")
    assert output.read_bytes() == (tmp_path / "y.jsonl").read_bytes()


def test_what_cannot_be_read_is_told_and_kept(tmp_path: Path) -> None:
    feed = tmp_path / "a.jsonl"
    formats.jsonl(feed, PAGES)
    lines = feed.read_bytes().splitlines(keepends=True)
    surrogate = b'{"url": "http://a/\\ud800", "html": "<title>\\udfff</title>' + b"a b c d" * 9 + b'"}\n'
    bad = [b'{"url": \n', b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"\n", b'{"n": 1}\n', surrogate]
    feed.write_bytes(b"".join([lines[0], *bad, *lines[1:]]))
    output = tmp_path / "b.jsonl"
    done = add_here(feed, "--output", output, "--json")
    summary = json.loads(done.stdout)
    names = ("records", "seen", "kept", "bad", "not_judged")
    assert (done.exit_code, [summary[name] for name in names]) == (0, [10, 10, 8, 3, 4])
    for number in (2, 3, 4):
        assert f"{feed}, line {number} is not valid JSON" in done.stderr
    assert output.read_bytes() == b"".join([lines[0], *bad[:3], *bad[4:], lines[1], lines[4]])


def test_an_unjudgeable_page_costs_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(page: Page, _: DedupConfig) -> Fingerprint:
        if "raise" in page.text:
            raise RuntimeError("on purpose")
        return fingerprint(page)

    monkeypatch.setattr(adding_module, "fingerprint", judged)
    formats.jsonl(tmp_path / "a.jsonl", [*PAGES, ("http://a/6", html("raise"))])
    done = add_here("a.jsonl", "--json")
    assert "line 6 cannot be judged: RuntimeError: on purpose" in done.stderr
    assert json.loads(done.stdout)["bad"] == 1


def test_an_unreadable_file_does_not_stop_the_others(tmp_path: Path) -> None:
    formats.jsonl(tmp_path / "a.jsonl.gz", PAGES)
    formats.jsonl(tmp_path / "b.jsonl.gz", [("http://b/", html(text(9)))])
    (tmp_path / "a.jsonl.gz").write_bytes((tmp_path / "a.jsonl.gz").read_bytes()[:-20])
    done = add_here("a.jsonl.gz", "b.jsonl.gz", "--output", "c.jsonl.gz", "--json")
    assert (done.exit_code, "a.jsonl.gz cannot be read to its end" in done.stderr) == (1, True)
    assert "a.jsonl.gz: " not in done.stderr  # it is named once
    assert json.loads(done.stdout)["unreadable"] == 1
    assert json.loads(pages_in(tmp_path / "c.jsonl.gz")[-1])["url"] == "http://b/"


def test_hostile_names_are_inert_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31m\u202e.jsonl"
    path.write_text("{\n")
    done = add_here(path)
    assert not {"\x1b", "\u202e"} & {*done.output}
    assert "\\x1b[31m\\u202e.jsonl, line 1 is not valid JSON" in done.stderr


def test_pages_over_a_limit_are_counted_and_repeat_equal_bytes_only(tmp_path: Path) -> None:
    pages = [("http://a/1", html(text(1, 900))), ("http://a/2", html(edited(1, 1, 900)))]
    formats.jsonl(tmp_path / "a.jsonl", [*pages, ("http://a/3", pages[0][1])])
    arguments = ("a.jsonl", "-s", "DEDUP_STORE_PAGES=True")
    with bounds(MAX_BYTES=4000):
        assert counts(*arguments, names="over_limit new exact_duplicate") == [3, 2, 1]
    with SQLiteIndex(tmp_path / "x.db") as index:
        assert [index.page_of(row) for row in index.rows()] == [None] * 3
    with bounds(MAX_BYTES=4000):
        assert "3 over a size limit" in add_here(*arguments).output


def test_the_same_files_again_are_unchanged(tmp_path: Path) -> None:
    formats.html(tmp_path / "pages", PAGES)
    add_here("pages")
    assert counts("pages", names="run unchanged dropped") == [2, 5, 2]


def test_a_spider_and_the_source_choose_what_pages_are_compared_with(tmp_path: Path) -> None:
    for number in range(4):
        formats.jsonl(tmp_path / f"{number}.jsonl", [(f"http://b/{number}", PAGES[0][1])])
    news = ("--spider", "news")
    assert (counts("0.jsonl", *news, names="dropped"), counts("1.jsonl", names="dropped")) == ([0], [0])
    assert counts("2.jsonl", *news, "-s", "DEDUP_SOURCE=response", names="dropped") == [0]
    assert counts("3.jsonl", *news, names="dropped") == [1]


def test_what_changes_at_each_load_is_named_by_hand(tmp_path: Path) -> None:
    moves = [f"<p class=clock>{words(Random(number), 30)}" for number in range(2)]
    formats.html(tmp_path / "pages", [(f"http://{n}", html(text(1) + it)) for n, it in enumerate(moves)])
    hint = "  1 kept though much like another page. Files are read once, so nobody learns what changes"
    for ignore, kept in ((".advert", True), (".clock", False)):
        told = add("pages", "--index", f"{ignore}.db", "-s", f"DEDUP_IGNORE={ignore}").output
        assert (hint in told, "1 near copy" in told) == (kept, not kept)


@pytest.mark.parametrize(
    ("files", "output", "message"),
    [
        (["a.jsonl", "pages"], "out", "--output takes one format, and the input has html, jsonl"),
        (["a.jsonl"], "out.csv", "must be of the input's format, jsonl"),
        (["pages"], "new.jsonl", "must be a list of names, such as kept.txt"),
        (["pages"], "new.html", "must be a list of names, such as kept.txt"),
        (["a.parquet"], "new.parquet", "must be a list of names, such as kept.txt"),
        (["a.jsonl"], "full", "cannot be written: Is a directory"),
        (["a.jsonl"], "none/out.jsonl", "cannot be written: No such file"),
        (["a.csv", "b.csv"], "out.csv", "differ in their columns"),
        (["a.warc", "b.warc.gz"], "out.warc", "differ in their columns, or in being compressed"),
    ],
)
def test_an_output_not_fitting(tmp_path: Path, files: list[str], output: str, message: str) -> None:
    for folder in ("pages", "full"):
        formats.html(tmp_path / folder, PAGES)
    for name in ("a.jsonl", "a.csv", "a.parquet", "a.warc", "b.warc.gz"):
        WRITERS[f"pages{name[1:]}"](tmp_path / name, PAGES)
    (tmp_path / "b.csv").write_text("url,html\n")
    before, done = set(tmp_path.rglob("*")), add_here(*files, "--output", output)
    assert (done.exit_code, message in done.stderr) == (1, True), done.output
    assert {path for path in tmp_path.rglob("*") if "x.db" not in path.name} == before
    assert rows(tmp_path / "x.db") == []


def test_a_file_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x" * 140_000 + ',"\n')
    day = pyarrow.array([0, 2**31 - 1], pyarrow.date32())
    table = pyarrow.table({"t": ["The tide turns.", "The lamp burns."], "day": day})
    pyarrow.parquet.write_table(table, tmp_path / "b.parquet")
    twice = pyarrow.table([["one"], ["two"]], names=["t", "t"])
    pyarrow.parquet.write_table(twice, tmp_path / "c.parquet")
    done = add_here(".", "-s", "DEDUP_TEXT_FIELDS=t")
    assert ("a.csv has no column t" in done.stderr, done.exit_code) == (True, 1)
    assert "c.parquet has more than one column t" in done.stderr
    assert "b.parquet, row 2 cannot be read" in done.stderr
    assert len(rows(tmp_path / "x.db")) == 1


@pytest.mark.parametrize(
    ("name", "outputs", "end"), [("a.warc.gz", {"b.warc.gz": 2}, 0), ("a.warc", {"b.warc": 2}, 1)]
)
def test_a_record_of_a_wrong_length_is_written_as_it_was(
    tmp_path: Path, name: str, outputs: Any, end: int
) -> None:
    page = formats.response("http://a/", html(text(1)).encode())
    wrong = re.sub(rb"Length: (\d+)", lambda found: b"Length: %d" % (int(found[1]) + 300), page)
    formats.write_warc(tmp_path / name, [wrong, page])
    for output, kept in outputs.items():
        told = counts(name, "--output", output, names="seen not_judged bad", code=end)
        assert told == [2 - end, 1, 1]  # in a plain file it hides the next one
        (tmp_path / "x.db").unlink()
        assert b"".join(pages_in(tmp_path / output)).count(html(text(1)).encode()) == kept


def test_many_feeds_make_one_output(tmp_path: Path) -> None:
    formats.jsonl(tmp_path / "a.jsonl", PAGES[:2])
    (tmp_path / "a.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes().removesuffix(b"\n"))
    formats.jsonl(tmp_path / "b.jsonl.gz", PAGES[2:])
    output = tmp_path / "out.jsonl"
    add_here(".", "--output", output)
    assert [json.loads(line)["url"] for line in pages_in(output)] == [url for url, _ in UNIQUE]


@pytest.mark.parametrize(
    ("source", "output", "compressed"),
    [("a.jsonl", "kept.gz", True), ("a.jsonl.gz", "kept.jsonl", False), ("a.jsonl", "kept", False)],
)
def test_a_name_says_what_is_packed(tmp_path: Path, source: str, output: str, compressed: bool) -> None:
    WRITERS[source.replace("a.", "pages.")](tmp_path / source, PAGES)
    assert add_here(source, "--output", output).exit_code == 0
    assert (tmp_path / output).read_bytes().startswith(b"\x1f\x8b") == compressed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full here")
def test_an_output_on_a_full_disk_can_be_written_later(tmp_path: Path) -> None:
    formats.jsonl(tmp_path / "a.jsonl", PAGES)
    done = add_here("a.jsonl", "--output", "/dev/full")
    assert (done.exit_code, "No space left on device" in done.stderr) == (1, True)
    assert add_here("a.jsonl", "--output", "out.jsonl").exit_code == 0
    assert len(pages_in(tmp_path / "out.jsonl")) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_an_output_may_be_a_link_or_a_pipe(tmp_path: Path) -> None:
    formats.jsonl(tmp_path / "a.jsonl", PAGES)
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe"
    link.symlink_to("target.jsonl")
    os.mkfifo(pipe)
    assert add_here("a.jsonl", "--output", link).exit_code == 0
    assert link.is_symlink()
    expected = (tmp_path / "target.jsonl").read_bytes()
    assert len(expected.splitlines()) == 3
    read_end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert (add_here("a.jsonl", "--output", pipe).exit_code, os.read(read_end, 65_536)) == (0, expected)
    os.close(read_end)
    assert pipe.is_fifo()


def test_a_flood_of_bad_records_is_told_in_part_and_counted_whole(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{\n" * 100)
    done = add_here("a.jsonl")
    assert done.stderr.count("is not valid JSON") == 20
    assert done.stderr.count("further problems are only counted") == 1
    assert "100 records could not be read" in done.stdout
    assert "Deduplication of run 1:" in done.stdout


RECORDS = [{"sku": n, "name": "Tea", "text": text(1), "price": n} for n in range(4)]


def records(path: Path, *found: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in found), "utf-8")
    return path


def test_it_fails_where_no_record_was_judged(tmp_path: Path) -> None:
    feed = records(tmp_path / "shop.jsonl", *RECORDS)
    done = add(feed, "--index", "pages.db", "-s", "DEDUP_TEXT_FIELDS=txt")
    assert (done.exit_code, "NOTHING WAS JUDGED: no record has" in done.output) == (1, True)


def test_records_that_are_no_pages_stop_it_until_fields_are_named(tmp_path: Path) -> None:
    feed, out = records(tmp_path / "shop.jsonl", *RECORDS), tmp_path / "out.jsonl"
    chosen = ("--index", "pages.db", "--output", out)
    done = add(feed, *chosen)
    assert (done.exit_code, "line 1 is no page: it has no whole page" in done.output) == (1, True)
    assert "-s DEDUP_TEXT_FIELDS=title,text" in done.output
    assert not out.exists()
    assert rows(tmp_path / "pages.db") == []
    named = ("-s", "DEDUP_TEXT_FIELDS=name,text", "-s", "DEDUP_KEY_FIELDS=sku")
    assert add(feed, *chosen, *named).exit_code == 0
    assert out.read_text() == feed.read_text()
    assert add(records(tmp_path / "more.jsonl", *RECORDS), *chosen, *named[:2]).exit_code == 0
    assert len(out.read_text().splitlines()) == 1
