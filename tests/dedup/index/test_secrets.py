"""Each index has a secret of its own, which nobody gets to see."""

from __future__ import annotations

import pickle
import sqlite3
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from dedup import DedupConfig, Detector, MemoryIndex, SQLiteIndex
from dedup.cli import main
from dedup.files.adding.work import WorkerSettings
from dedup.index import Index
from dedup.reading.fields import FieldRule
from dedup.values.errors import IndexUnavailable
from dedup.values.hashes import SECRET_SIZE
from tests.fuzz.commands import with_index
from tests.pages import edited, page, text


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    found = tmp_path / "pages.db"
    with SQLiteIndex(found) as index, Detector(index, DedupConfig(store_pages=True), "s") as detector:
        for number, content in enumerate([text(1), edited(1), text(2), text(2)]):
            detector.check(page(content, f"http://a/{number}"))
    return found


def secret_of(path: Path) -> bytes:
    with SQLiteIndex(path, read_only=True) as index:
        return index.secret


def test_each_index_draws_its_own_and_keeps_it(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.db" for number in range(3)]
    for path in paths:
        SQLiteIndex(path).close()
    found = [secret_of(path) for path in paths] + [MemoryIndex().secret, MemoryIndex().secret]
    assert len(set(found)) == len(found)
    assert {len(secret) for secret in found} == {SECRET_SIZE}
    assert [secret_of(path) for path in paths] == found[:3]


@pytest.mark.parametrize("value", [b"", b"no digits", b"12ab" * 15, b"12ab" * 15 + b"12\xffb"])
def test_a_damaged_one_is_an_error_that_does_not_quote_it(path: Path, value: bytes) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = CAST(? AS TEXT) WHERE name = 'secret'", (value,))
    connection.close()
    with SQLiteIndex(path) as index:
        with pytest.raises(
            IndexUnavailable, match=r"the file is damaged \(its secret is gone\)"
        ) as caught:
            Detector(index)
        assert "12ab" not in "".join(traceback.format_exception(caught.value))
    found = CliRunner().invoke(main, ["check", str(path)])
    assert found.exit_code == 1
    assert "its secret is gone" in found.output
    assert "12ab" not in found.output


def test_neither_recipes_nor_equal_fingerprints_depend_on_it(index: Index) -> None:
    detector = Detector(index)
    assert index.secret.hex() not in str(dict(index.recipe()))
    one, other = detector.fingerprint(page(text(1))), Detector(MemoryIndex()).fingerprint(page(text(1)))
    assert one == other
    assert one.check_sketch != other.check_sketch


def test_no_repr_shows_it(index: Index) -> None:
    detector = Detector(index)
    settings = WorkerSettings(
        rule=FieldRule(), config=DedupConfig(), spider="s", kind="item", secret=index.secret
    )
    assert pickle.loads(pickle.dumps(settings)).secret == index.secret
    for value in (index, detector, settings, detector.fingerprint(page(text(1)))):
        assert not shows(repr(value).encode(), index.secret)


COMMANDS = [
    ["rules", "--json"],
    ["report"],
    ["report", "--all", "--format", "jsonl", "--output", "OUT"],
    ["report", "--json", "--output", "OUT"],
    ["report", "--all", "--format", "csv", "--output", "OUT"],
    ["report", "--format", "html", "--output", "OUT"],
    ["report", "--what-if", "DEDUP_RECIPE=min_similarity=0.9"],
    ["explain", "http://a/1"],
    ["explain", "http://a/1", "--json"],
    ["explain", "http://a/0", "http://a/1"],
    ["explain", "http://a/0", "http://a/1", "--json"],
    ["explain", "some words that are on no page"],
    ["forget", "--run", "1", "--dry-run"],
    ["report", "--json"],
    ["report", "--all"],
    *(["restore", "--list", name, "--json"] for name in ("dropped", "orphans", "withheld")),
    ["restore", "--run", "1"],
    ["check"],
    ["check", "--rebuild"],
    ["forget", "http://a/3"],
    ["merge", "pages.db"],
    ["add", "pages.jsonl", "--output", "OUT", "--jobs", "2"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_it(path: Path, command: list[str]) -> None:
    Path("pages.jsonl").write_text('{"url": "http://b/", "html": "<p>The tide turns at noon today"}\n')
    done = CliRunner().invoke(main, with_index(command, path))
    assert done.exit_code in (0, 3), done.output
    secret = secret_of(path)
    assert not shows(done.output.encode(), secret)
    assert not any(shows(content, secret) for content in contents(path.parent))


def contents(folder: Path) -> Iterator[bytes]:
    """What stands in all files of a folder but the index."""
    for found in folder.rglob("*"):
        if found.is_file() and not found.name.startswith("pages.db"):
            yield found.read_bytes()


def shows(content: bytes, secret: bytes) -> bool:
    return any(
        form in content.lower() for form in (secret, secret.hex().encode(), repr(secret).encode())
    )


def test_every_command_is_asked() -> None:
    asked = {command[0] for command in COMMANDS}
    others = {"spark", "try"}
    assert set(main.list_commands(None)) - asked <= others  # type: ignore[arg-type]


def test_merged_pages_have_no_check_sketches(path: Path) -> None:
    done = CliRunner().invoke(main, ["merge", str(path), "other.db"])
    assert done.exit_code == 0, done.output
    with SQLiteIndex("other.db") as index:
        assert not any(row.sighting.fingerprint.check_sketch for row in index.rows())
    assert secret_of(Path("other.db")) != secret_of(path)
