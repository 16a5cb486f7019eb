"""Fingerprints go from index to index: nothing is lost, doubled, or kept that nobody has."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex
from dedup.files.exchange.files import Exported, export_lines, writing
from dedup.files.exchange.merge import Imported, import_export
from dedup.index import Index, Row
from dedup.index.schema import PAGES, RUNS, SCOPES
from dedup.index.stores import SQLiteStore
from dedup.index.stores.base import Query
from dedup.rule.match import match
from dedup.values.errors import DedupError, IndexMismatch
from dedup.values.verdict import Outcome, Reason
from tests.budget import examples
from tests.dedup.index.scan_store import ScanIndex
from tests.dedup.index.test_laws import CONFIGS
from tests.pages import edited, page, text
from tests.report.test_replay import LIVES, Life, lived
from tests.stored import FIXTURES

CONFIG = DedupConfig()
FORGOTTEN = st.sampled_from(["", "http://a/1", "http://b/1"])


def exported(index: Index, folder: Path, name: str = "fingerprints.jsonl") -> Exported:
    with writing(folder / name, compressed=name.endswith(".gz")) as file:
        file.writelines(export_lines(index))
    return Exported.opened(folder / name)


def ended(index: Index) -> Index:
    for run in index.runs():
        if run.ended is None:
            index.end_run(run, "finished")
    return index


@settings(max_examples=examples(40))
@given(LIVES, st.sampled_from(CONFIGS), FORGOTTEN)
def test_an_empty_index_becomes_equal(life: Life, config: DedupConfig, url: str) -> None:
    index = ended(lived(life, config))
    index.ledger.forget_url(url)
    with tempfile.TemporaryDirectory() as folder, SQLiteIndex(Path(folder) / "pages.db") as copy:
        export = exported(index, Path(folder))
        export.check()
        import_export(copy, export, config)
        assert copy.problems() == []
        assert list(export_lines(copy)) == list(export_lines(index))
        memory = ScanIndex()
        import_export(memory, export, config)
        assert list(export_lines(memory)) == list(export_lines(index))


@settings(max_examples=examples(40))
@given(LIVES, LIVES, st.sampled_from(CONFIGS), st.sampled_from(CONFIGS), FORGOTTEN)
def test_two_indexes_become_one(
    one: Life, two: Life, config: DedupConfig, other: DedupConfig, url: str
) -> None:
    with tempfile.TemporaryDirectory() as name, SQLiteIndex(Path(name) / "pages.db") as merged:
        sources = [ended(lived(one, config)), ended(lived(two, config))]
        sources[1].ledger.forget_url(url)
        exports = [exported(found, Path(name), f"{n}.jsonl") for n, found in enumerate(sources)]
        first = import_export(merged, exports[0], other)
        before = list(merged.rows())
        second = import_export(merged, exports[1], other)
        rows = list(merged.rows())
        assert (len(rows), first.known, second.known) == (len(one) + len(two), 0, 0)
        assert merged.problems() == []
        if one:
            assert [replace(row, listed=True) for row in rows[: len(one)]] == [
                replace(row, listed=True) for row in before
            ]
        for was, now in zip([row for found in sources for row in found.rows()], rows, strict=True):
            check_merged(was, now, merged, other)

        once = list(export_lines(merged))
        for export in exports:
            again = import_export(merged, export, other)
            assert again == Imported(export.header.rows, export.header.rows, 0)
        assert list(export_lines(merged)) == once
        import_export(MemoryIndex(), exported(merged, Path(name), "merged.jsonl"), other)


def check_merged(was: Row, now: Row, merged: Index, config: DedupConfig) -> None:
    """A page stays what it was seen as, and counts as kept only if some index has kept it."""
    assert replace(now.sighting, run=1) == replace(was.sighting, run=1)
    if now.listed or now.verdict.kept:
        assert was.verdict.kept
    if was.outcome in (Outcome.FORGOTTEN, Outcome.RELEASED):
        assert (now.outcome, now.listed) == (was.outcome, False)
    elif now.verdict.reason in (Reason.NEAR_DUPLICATE, Reason.EXACT_DUPLICATE) and now.id > was.id:
        assert now.verdict.canonical is not None
        canonical = merged.row(now.verdict.canonical)
        found = match(canonical.sighting.fingerprint, now.sighting.fingerprint, config)
        assert found.is_duplicate or now.outcome is Outcome.ORPHANED


def crawled(pages: Sequence[tuple[str, str]], spider: str = "s") -> MemoryIndex:
    index = MemoryIndex()
    with Detector(index, spider=spider) as detector:
        for content, url in pages:
            detector.check(page(content, url))
    return index


def merged(folder: Path, *indexes: Index) -> MemoryIndex:
    target = MemoryIndex()
    for number, index in enumerate(indexes):
        import_export(target, exported(index, folder, f"{number}.jsonl"), CONFIG)
    return target


def test_crawls_write_while_known_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = exported(crawled([(text(1), "http://a/1"), (text(2), "http://a/2")]), tmp_path)
    read = SQLiteStore.rows
    written = []

    def rows(store: SQLiteStore, query: Query) -> Iterator[Row]:
        for row in read(store, query):
            if query.after is not None:
                with SQLiteIndex(store.path, timeout=0) as other:
                    written.append(other.begin_run("crawl"))
            yield row

    with SQLiteIndex(tmp_path / "pages.db") as index:
        import_export(index, export, CONFIG)
        monkeypatch.setattr(SQLiteStore, "rows", rows)
        assert import_export(index, export, CONFIG).known == len(written) == 2


def test_copies_in_two_indexes_are_found(tmp_path: Path) -> None:
    one = crawled([(text(1), "http://a/1"), (text(2), "http://a/2")])
    two = crawled([(edited(1), "http://b/1"), (text(3), "http://b/3")])
    rows = list(merged(tmp_path, one, two).rows())
    assert [row.verdict.reason.value for row in rows] == ["new", "new", "near_duplicate", "new"]
    assert (rows[2].verdict.canonical, rows[2].sighting.run) == (1, 2)


def test_a_url_in_both_is_a_later_version(tmp_path: Path) -> None:
    one = crawled([(text(1), "http://a/1"), (text(2), "http://a/2")])
    two = crawled([(text(1), "http://a/1"), (text(3), "http://a/2")])
    rows = list(merged(tmp_path, one, two).rows())
    assert [row.verdict.reason.value for row in rows[2:]] == ["unchanged", "updated"]
    assert [row.listed for row in rows] == [True, False, False, True]


def test_scopes_stay_apart(tmp_path: Path) -> None:
    rows = merged(
        tmp_path, crawled([(text(1), "http://a/1")]), crawled([(text(1), "http://b/1")], "other")
    ).rows()
    assert [(row.verdict.reason, row.sighting.scope) for row in rows] == [
        (Reason.NEW, "s"),
        (Reason.NEW, "other"),
    ]


def test_what_nobody_kept_is_nobodys_canonical(tmp_path: Path) -> None:
    # C repeats B, B repeats A, but C is too far from A: only A is kept, and C must be crawled again.
    a, b, c = edited(1, 0), edited(1, 10), edited(1, 18)
    pages = {"http://a/": a, "http://b/": b, "http://c/": c}
    assert [row.verdict.kept for row in crawled([(a, "http://a/"), (c, "http://c/")]).rows()] == [
        True
    ] * 2
    one = crawled([(a, "http://a/")])
    two = crawled([(pages[url], url) for url in ("http://b/", "http://c/")])
    target = merged(tmp_path, one, two)
    assert [row.sighting.url for row in target.views.orphans()] == ["http://c/"]
    assert [row.listed for row in target.rows()] == [True, False, False]
    with Detector(target, spider="s") as detector:
        assert detector.check(page(c, "http://d/")).kept


def test_a_later_export_brings_what_is_new(tmp_path: Path) -> None:
    one, two = crawled([(text(1), "http://a/1")]), crawled([(text(2), "http://b/2")])
    target = merged(tmp_path, one, two)
    with Detector(two, spider="s") as detector:
        detector.check(page(text(3), "http://b/3"))
    found = import_export(target, exported(two, tmp_path), CONFIG)
    assert found == Imported(rows=2, known=1, kept=1)
    assert [row.sighting.url for row in target.rows()] == ["http://a/1", "http://b/2", "http://b/3"]
    assert str(found) == "2 rows, 1 known already, 1 new (1 of them kept)"


def test_an_interrupted_merge_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.files.exchange.merge._BATCH", 3)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    export = exported(crawled([(text(n), f"http://a/{n}") for n in range(8)]), tmp_path)
    target = crawled([(text(9), "http://b/")])
    with pytest.raises(KeyboardInterrupt):
        import_export(target, export, CONFIG, interrupt)
    assert len(list(target.rows())) == 4
    assert import_export(target, export, CONFIG) == Imported(rows=8, known=3, kept=5)
    assert len(target.runs()) == 2


def test_an_interrupted_restore_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    export = exported(crawled([(text(1), "http://a/")]), tmp_path)
    with SQLiteIndex(tmp_path / "pages.db") as index:
        with pytest.raises(KeyboardInterrupt):
            import_export(index, export, CONFIG, interrupt)
        assert (list(index.rows()), index.runs()) == ([], [])


def test_what_was_open_counts_as_lost(tmp_path: Path) -> None:
    index = MemoryIndex()
    detector = Detector(index)
    found = page(text(1), "http://a/")
    index.prepare(CONFIG)
    detector.submit(detector.sighting(found), confirmed=False)
    (row,) = merged(tmp_path, index).rows()
    assert (row.outcome, row.listed) == (Outcome.RELEASED, False)
    (run,) = merged(tmp_path, index).runs()
    assert (run.ending, run.ended is not None) == ("unfinished", True)


def test_another_recipe_is_refused(tmp_path: Path) -> None:
    export = exported(crawled([(text(1), "http://a/")]), tmp_path)
    target = MemoryIndex()
    target.prepare(DedupConfig(shingle=3))
    with pytest.raises(IndexMismatch, match=r"made with shingle=4, the index in memory with shingle=3"):
        import_export(target, export, CONFIG)
    assert list(target.rows()) == []


def test_equal_indexes_make_equal_files(tmp_path: Path) -> None:
    index = crawled([(text(1), "http://a/")])
    files = [exported(index, tmp_path, name).path.read_bytes() for name in ("1.gz", "2.gz", "3.jsonl")]
    assert files[0] == files[1]
    assert gzip.decompress(files[0]) == files[2]
    assert next(Exported.opened(tmp_path / "1.gz").rows()).sighting.url == "http://a/"


def test_an_index_without_pages_has_nothing_to_export() -> None:
    with pytest.raises(DedupError, match="there is nothing in the index in memory to export"):
        list(export_lines(MemoryIndex()))


# What messages of Python have, and ours have not.
_PYTHON = re.compile(r"codec|Errno|None|True|False|\bb'|fromhex|padding|-3 while|marker|\(char|int_max")


# Written by the code of its time: twelve pages in two runs, with every key that was in use then.
STORED = FIXTURES / "export-version-1.jsonl"
SINCE = {
    "sentences": "",
    "words": 0,
    "shingles": 0,
    "sample": "",
    "inside": None,
    "traits": "",
    "lost": None,
    "missing": None,
    "own": None,
    "site_pages": None,
    "finding": "",
}


def written(line: str) -> str:
    """Return a line of an export without the keys that there are since, which must have no values."""
    values = json.loads(line)
    for key, default in SINCE.items():
        assert values.pop(key, default) == default
    return json.dumps(values, separators=(",", ":"))


@pytest.mark.parametrize("store", [ScanIndex, SQLiteIndex])
def test_a_stored_export_is_read_and_written_again_byte_by_byte(
    store: Callable[..., Index], tmp_path: Path
) -> None:
    with store(*[tmp_path / "pages.db"] * (store is SQLiteIndex)) as index:
        imported = import_export(index, Exported.opened(STORED), CONFIG)
        assert (imported.rows, imported.known, imported.kept) == (12, 0, 7)
        assert [written(line) for line in export_lines(index)] == STORED.read_text("ascii").splitlines()
        assert index.problems() == []


LATER = {"item_key": "", "redirects": (), "seen_on": None, "is_dry": False}


def test_an_export_from_before_some_keys_has_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "older.jsonl"
    later = {column.export for column in PAGES.exported if column.name in LATER}
    assert len(later) == len(LATER)
    lines = [json.loads(line) for line in STORED.read_text("ascii").splitlines()]
    older = [{key: value for key, value in line.items() if key not in later} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in older), "ascii")
    for row in Exported.opened(path).rows():
        assert {name: getattr(row.sighting, name) for name in LATER} == LATER


def test_no_key_that_a_row_needs_may_be_missing(tmp_path: Path) -> None:
    lines = STORED.read_text("ascii").splitlines(keepends=True)
    for number, columns in ((1, RUNS.exported), (3, (*PAGES.exported, *SCOPES.exported))):
        for column in columns:
            values = SINCE | json.loads(lines[number])
            del values[column.export]
            damaged = [*lines[:number], json.dumps(values) + "\n", *lines[number + 1 :]]
            (tmp_path / "damaged.jsonl").write_text("".join(damaged), "ascii")
            if column.is_required:
                with pytest.raises(DedupError, match=rf"line {number + 1}: {column.export} "):
                    Exported.opened(tmp_path / "damaged.jsonl").check()
            else:
                Exported.opened(tmp_path / "damaged.jsonl").check()


def field(line: int, name: str, value: Any) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        lines[line] = json.dumps({**json.loads(lines[line]), name: value}) + "\n"
        return lines

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [], "line 1: this is no JSON"),
        (lambda lines: ["{}\n"], "line 1: this is no file of `dedup export`"),
        (lambda lines: lines[:1], "is cut off: it has 0 of 1 runs"),
        (lambda lines: lines[:-1], "is cut off: it has 1 of 2 rows"),
        (lambda lines: [*lines, lines[-1]], "line 5: row must be a whole number, 3 to 3"),
        (lambda lines: [*lines[:-1], lines[-1][:50]], "line 4 is cut off or too long"),
        (lambda lines: [*lines[:2], "[1]\n"], "line 3: a line must be a JSON object"),
        (lambda lines: [*lines[:2], "[" * 100_000 + "\n"], "JSON: it is nested too deeply$"),
        (lambda lines: [*lines[:2], '{"time": NaN}\n'], "line 3: this is no JSON: NaN is no number"),
        (field(0, "version", 2), "line 1: format version 2 is newer than 1; upgrade"),
        (field(0, "recipe", {}), "line 1: recipe must be an object"),
        (field(0, "rows", -1), "line 1: rows must be a whole number"),
        (field(1, "started", "now"), "line 2: started must be a number"),
        (field(2, "url", "\ud800"), "line 3: url must be text"),
        (field(2, "run", 2), "line 3: run must be a whole number, 1 to 1"),
        (field(2, "run", True), "line 3: run must be a whole number, 1 to 1"),
        (field(2, "time", 1e300), "line 3: time must be a number"),
        (field(2, "content", "ff"), "line 3: content must have 16 hexadecimal digits"),
        (field(2, "content", "x" * 16), "line 3: content must have 16 hexadecimal digits"),
        (field(2, "body_digest", "x"), "line 3: body_digest must have 32 hexadecimal digits"),
        (field(2, "sketch", "AAA"), "line 3: sketch must be bytes in base64$"),
        (field(2, "sample", "\u00e4"), "line 3: sample must be bytes in base64$"),
        (field(0, "url_rules", {"withheld": ["\ud800"]}), "line 1: url_rules must be valid Unicode"),
        (lambda lines: [*lines[:2], '{"time": ' + "1" * 5000 + "}\n"], "JSON: a number is too long$"),
        (
            lambda lines: [*lines[:2], "{,}\n"],
            "line 3: this is no JSON: Expecting property name enclosed",
        ),
        (field(2, "sketch", "AAAA"), "line 3: sketch has 3 bytes, it must have 256"),
        (field(2, "body_digest", ""), "line 3: body_digest does not go with new"),
        (field(2, "reason", "because"), "line 3: reason \\('because'\\) must be one of new"),
        (field(2, "reason", "unchanged"), "line 3: unchanged needs a canonical"),
        (field(2, "kept", False), "line 3: new is kept"),
        (field(2, "outcome", "released"), "line 3: listed does not go with new, released"),
        (field(3, "canonical", 2), "line 4: canonical must be a whole number, 1 to 1"),
        (field(3, "canonical", None), "line 4: exact_duplicate needs a canonical"),
        (field(3, "kept", True), "line 4: exact_duplicate is not kept"),
        (field(3, "listed", 0), "line 4: listed must be true or false"),
    ],
)
def test_damage_is_named_by_its_line(
    tmp_path: Path, damage: Callable[[list[str]], list[str]], message: str
) -> None:
    index = crawled([(text(1), "http://a/"), (text(1), "http://b/")])
    path = tmp_path / "damaged.jsonl"
    path.write_text("".join(damage(list(export_lines(index)))))
    with pytest.raises(DedupError, match=message):
        Exported.opened(path).check()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}\xff\n", "line 1: this is no JSON: its text is no UTF-8"),
        (
            gzip.compress(b"{}" * 9, mtime=0)[:-9],
            "after line 0: what was compressed is damaged or cut off",
        ),
        (
            gzip.compress(b"{}" * 9, mtime=0)[:-8] + b"12345678",
            "what was compressed is damaged or cut off",
        ),
        (gzip.compress(b"", mtime=0)[:10] + b"\xff" * 9, "what was compressed is damaged or cut off"),
    ],
    ids=["text", "end", "sum", "block"],
)
def test_bytes_that_are_no_lines_are_named_in_plain_words(
    tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "damaged").write_bytes(data)
    with pytest.raises(DedupError, match=rf"{message}$"):
        Exported.opened(tmp_path / "damaged")


@given(st.binary(max_size=60), st.integers(0, 10_000))
def test_no_damage_crashes_the_reader(noise: bytes, place: int) -> None:
    lines = "".join(export_lines(crawled([(text(1), "http://a/"), (text(1), "http://b/")]))).encode()
    place %= len(lines)
    found: list[str] = []
    for data in (
        lines[:place] + noise + lines[place + len(noise) :],
        gzip.compress(lines)[: place % 1000] + noise,
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "damaged"
            path.write_bytes(data)
            try:
                Exported.opened(path).check()
            except DedupError as error:
                found.append(str(error).replace(folder, ""))
    assert [message for message in found if _PYTHON.search(message)] == []


def test_keys_of_later_versions_are_ignored(tmp_path: Path) -> None:
    lines = list(export_lines(crawled([(text(1), "http://a/")])))
    path = tmp_path / "later.jsonl"
    path.write_text("".join(field(2, "page", "x")(field(0, "pages", 1)(lines))))
    Exported.opened(path).check()
