"""What was kept is in the feeds of the user; what feeds lose is taken back, and delivered again."""

import csv
import io
import json
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as examples_of
from hypothesis import strategies as st
from scrapy.exporters import CsvItemExporter, JsonLinesItemExporter

from dedup.model.verdict import Outcome
from dedup.plugin.feeds import end_torn_line
from tests.oracle.trying import in_a_process
from tests.plugin.crawls import ITEMS, item, listed, outcomes, urls
from tests.plugin.feeding import FAULTS, tried
from tests.support.budget import examples
from tests.support.constants import KNOBS, MOST_GATHERED
from tests.support.crawling import Running, crawl, started, wait_until
from tests.support.pages import text


def broken(seeds: range, fault: str = "") -> list[tuple[int, list[str]]]:
    with TemporaryDirectory() as folder:
        return in_a_process(tried, list(seeds), Path(folder), fault)


@pytest.mark.parametrize(
    "seeds",
    [range(6), pytest.param(range(6, 100), marks=[pytest.mark.slow, pytest.mark.nightly])],
    ids=str,
)
def test_what_is_confirmed_is_in_all_feeds_and_nothing_else_is_taken_back(seeds: range) -> None:
    assert broken(seeds) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_finds_a_planted_fault(fault: str) -> None:
    assert broken(range(12), fault)


# Cases

DROP: dict[str, Any] = {"DEDUP_UNCHANGED": "drop", "CONCURRENT_ITEMS": 1}
FAILING = {"failing": "tests.plugin.storages.FailingFeed"}
FOUR = [item(number, text(content)) for number, content in enumerate([1, 1, 2, 3])]


def failing(folder: Path, **options: Any) -> dict[str, Any]:
    feed = {f"failing://user:secret@{folder}/%(batch_id)d.jsonl": {"format": "jsonlines", **options}}
    return {"FEED_STORAGES": FAILING, "FEEDS": feed, **DROP}


def test_what_a_failed_upload_had_is_told_and_delivered_by_the_next_crawl(tmp_path: Path) -> None:
    lost = crawl(tmp_path, ITEMS, failing(tmp_path), listed(*FOUR))
    assert "3 KEPT BUT LOST WITH A FEED" in lost.log
    assert f"failing://{tmp_path}/1.jsonl: it could not be stored, see above" in lost.log
    assert "secret" not in lost.log.split("Deduplication of run")[1].split("index:")[0]
    assert lost.dedup()["lost_in_feeds"] == 3
    assert list(outcomes(tmp_path).values()) == [
        Outcome.RELEASED,
        Outcome.ORPHANED,
        Outcome.RELEASED,
        Outcome.RELEASED,
    ]
    assert urls(crawl(tmp_path, ITEMS, DROP, listed(*FOUR))) == [FOUR[n]["url"] for n in (0, 2, 3)]
    assert urls(crawl(tmp_path, ITEMS, DROP, listed(*FOUR))) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk")
def test_what_a_full_disk_did_not_take_is_delivered_by_the_next_crawl(tmp_path: Path) -> None:
    full = {**DROP, "FEEDS": {"/dev/full": {"format": "jsonlines"}}}
    lost = crawl(tmp_path, ITEMS, full, listed(*FOUR))
    # A copy is no copy of what is lost: it is kept, and lost, too.
    assert lost.dedup()["lost_in_feeds"] == 4
    assert urls(crawl(tmp_path, ITEMS, DROP, listed(*FOUR))) == [FOUR[n]["url"] for n in (0, 2, 3)]


def test_a_feed_that_cannot_be_opened_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    feeds = {str(tmp_path / "file" / "items.jsonl"): {"format": "jsonlines"}}
    lost = crawl(tmp_path, ITEMS, {**DROP, "FEEDS": feeds}, listed(*FOUR))
    assert lost.dedup()["lost_in_feeds"] == 4
    assert len(crawl(tmp_path, ITEMS, DROP, listed(*FOUR)).items) == 3


def test_a_project_without_feeds_counts_on_its_pipelines(tmp_path: Path) -> None:
    first = crawl(tmp_path, ITEMS, {**DROP, "FEEDS": {}}, listed(*FOUR))
    assert "lost_in_feeds" not in first.dedup()
    assert crawl(tmp_path, ITEMS, DROP, listed(*FOUR)).items == []


# Kills, and jobs


def begun(folder: Path, settings: dict[str, Any]) -> Running:
    """Start a crawl that has scraped three items, and waits for the file `go` with the fourth."""
    fourth = item(4, text(4), reached=f"{folder}/reached", until=f"{folder}/go")
    pipelines = {"ITEM_PIPELINES": {"tests.plugin.storages.Gated": 300}}
    at_once = {KNOBS: {MOST_GATHERED: 1}}
    running = started(folder, ITEMS, {**DROP, **pipelines, **at_once, **settings}, listed(*FOUR, fourth))
    wait_until((folder / "reached").exists)
    return running


PLACES: dict[str, dict[str, Any]] = {
    "failing://{}/a.jsonl": {"format": "jsonlines"},
    "{}/a.pickle": {"format": "own"},
    "{}/a.jsonl": {"format": "jsonlines"},
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_what_a_killed_crawl_had_in_files_to_be_stored_is_new_again(tmp_path: Path, place: str) -> None:
    job = {"JOBDIR": str(tmp_path / "job")}
    settings = {
        **job,
        "FEED_STORAGES": FAILING,
        "FEED_EXPORTERS": {"own": "tests.plugin.storages.CollectingExporter"},
        "FEEDS": {place.format(tmp_path): PLACES[place]},
    }
    running = begun(tmp_path, settings)
    running.send(signal.SIGKILL)
    running.finish()
    resumed = crawl(tmp_path, ITEMS, {**DROP, **job}, listed(FOUR[0]))
    is_lost = place != "{}/a.jsonl"
    assert ("3 pages that it had kept are lost with them" in resumed.log) is is_lost
    assert ("3 kept by this run, but lost with its feeds when it died before" in resumed.log) is is_lost
    assert ("JOBDIR does not ask for them again" in resumed.log) is is_lost
    assert urls(resumed) == (["http://a/0"] if is_lost else [])
    again = crawl(tmp_path, ITEMS, DROP, listed(*FOUR))
    assert urls(again) == (["http://a/2", "http://a/3"] if is_lost else [])


# Files that are there already


@pytest.mark.parametrize(
    ("kind", "torn"),
    [("jsonlines", '{"url": "http://a/8", "text": "so'), ("csv", 'url,text\r\nhttp://a/8,"so ""\r\n')],
)
def test_the_first_item_is_no_part_of_what_a_kill_has_left(tmp_path: Path, kind: str, torn: str) -> None:
    feed = tmp_path / "own"
    feed.write_bytes(torn.encode())
    settings = {"FEEDS": {str(feed): {"format": kind}}}
    done = crawl(tmp_path, ITEMS, {**DROP, **settings}, listed(*FOUR))
    assert done.log.count("ends within an item, as after a kill") == 1
    with feed.open(newline="") as file:
        records = map(json.loads, [*file][1:]) if kind == "jsonlines" else csv.DictReader(file)
        found = [record["url"] for record in records]
    assert found == ["http://a/8", "url"] * (kind == "csv") + ["http://a/0", "http://a/2", "http://a/3"]


# Whatever is left of a file of records, what is appended to it can be read

FIELDS = ["url", "text"]
EXPORTERS = {"jsonlines": JsonLinesItemExporter, "csv": CsvItemExporter}
texts = st.text(st.sampled_from('a ,"\r\n{}\\é汉😀'), max_size=12)
records = st.lists(st.fixed_dictionaries({"url": texts, "text": texts}), min_size=1, max_size=4)


def written(kind: str, items: list[dict[str, str]]) -> bytes:
    file = io.BytesIO()
    exporter = EXPORTERS[kind](file, fields_to_export=FIELDS, encoding="utf-8")
    exporter.start_exporting()
    for one in items:
        exporter.export_item(one)
    exporter.finish_exporting()
    return file.getvalue()


def read(kind: str, data: bytes) -> list[object]:
    said = data.decode("utf-8", "replace")
    if kind == "jsonlines":
        return [line for line in said.split("\n") if line]
    return [row for row in csv.reader(io.StringIO(said, newline="")) if row and row != FIELDS]


def ended(data: bytes, kind: str) -> tuple[bytes, bool]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "items"
        path.write_bytes(data)
        told = end_torn_line(path, has_quotes=kind == "csv")
        return path.read_bytes(), told


@pytest.mark.parametrize("kind", EXPORTERS)
@examples_of(max_examples=examples(150), deadline=None)
@given(before=records, after=records, place=st.integers(0))
@example(before=[{"url": "a", "text": 'b"\n'}], after=[{"url": "汉", "text": '"'}], place=17)
def test_what_was_whole_and_what_is_appended_can_be_read(
    kind: str, before: list[dict[str, str]], after: list[dict[str, str]], place: int
) -> None:
    whole, more = written(kind, before), written(kind, after)
    head = len(written(kind, []))
    cut = head + place % (len(whole) - head + 1)
    left, told = ended(whole[:cut], kind)
    assert told == (left != whole[:cut])
    assert ended(left, kind) == (left, False)
    found, expected, last = read(kind, left + more), read(kind, whole), read(kind, more)
    count = sum(len(written(kind, before[:number])) <= cut for number in range(1, len(before) + 1))
    assert found[:count] == expected[:count]
    assert found[-len(last) :] == last
    assert len(found) - count - len(last) <= 1


@pytest.mark.parametrize("data", [b"", b"a,b\r\n", b'{"a": 1}\n', b"\n"])
@pytest.mark.parametrize("kind", EXPORTERS)
def test_a_file_that_ends_with_a_line_is_left_as_it_is(kind: str, data: bytes) -> None:
    assert ended(data, kind) == (data, False)
