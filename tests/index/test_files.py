"""Files that are no index, of others or of another release: one clear error, and the bytes stay as they were."""

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup import Detector, MemoryIndex, SQLiteIndex
from dedup.index import rows, search
from dedup.index.index import open_index
from dedup.index.search import BlockIndex
from dedup.index.sqlite_file import check_file, file_system
from dedup.model.errors import ConfigError, IndexMismatch, IndexUnavailable, printable
from dedup.prints import fingerprinter
from dedup.prints.fingerprinter import RECIPE_VERSION
from dedup.settings import DedupSettings
from tests.support.commands import run, with_index
from tests.support.pages import checked, edited, page, text

ONE = {"http://a/": text(1)}


def filled(path: Path, pages: dict[str, str] = ONE) -> Path:
    with SQLiteIndex(path) as index:
        checked(index, pages)
    return path


DATABASE = sqlite3.connect(":memory:")
DATABASE.execute("CREATE TABLE mine (x)")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *(
            (content, "is not an index")
            for content in (b"hello, I am a text file\n" * 100, b"x", bytes(5000))
        ),
        (DATABASE.serialize(), "another program"),
    ],
)
def test_a_file_that_is_no_index_is_left_alone(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pages.db"
    path.write_bytes(content)
    with pytest.raises(IndexUnavailable, match=message):
        SQLiteIndex(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "is a directory"), ("file/pages.db", "cannot be"), ("/proc/pages.db", "/proc")],
)
def test_a_path_that_cannot_be_a_file(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnavailable, match=message):
        SQLiteIndex(tmp_path / name)


def test_a_truncated_file(tmp_path: Path) -> None:
    path = filled(tmp_path / "pages.db", {f"http://a/{n}": text(n) for n in range(100)})
    path.write_bytes(path.read_bytes()[: 8 * 4096 + 17])
    before = path.read_bytes()
    with pytest.raises(IndexUnavailable, match="damaged"), SQLiteIndex(path) as index:
        assert index.problems() == []
        raise AssertionError("a truncated file was taken for sound")
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["content_simhash = 'text'", "sketch = x'0102', outcome = 'confirm'"])
def test_no_page_is_judged_by_what_is_damaged(path: Path, damage: str) -> None:
    run_sql(path, f"UPDATE pages SET {damage}")
    with SQLiteIndex(path) as index, Detector(index) as detector:
        with pytest.raises(IndexUnavailable, match="the file is damaged"):
            detector.check(page(edited(1), "http://b/"))


def test_another_jieba_names_the_way_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprinter, "table_digest", lambda *_: "0123")
    with SQLiteIndex(path) as index:
        with pytest.raises(IndexMismatch, match="now jieba_dictionary=0123; install that jieba again"):
            Detector(index)


def test_a_lock_that_is_held_too_long_is_one_clear_error(path: Path) -> None:
    with SQLiteIndex(path, timeout=0.1) as index, Detector(index) as detector:
        run, holder = detector.run, sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(IndexUnavailable, match="another process held the index for too long"):
            detector.check(page(text(9), "http://b/"))
        holder.execute("COMMIT")
        holder.close()
        assert detector.check(page(text(9), "http://b/")).kept
        assert detector.run == run


@pytest.mark.parametrize("system", ["nfs4", "cifs", "fuse.sshfs"])
def test_network_disks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    mounts, place = tmp_path / "mounts", tmp_path / "des données \\ 网页"
    place.mkdir()
    written = str(place).replace("\\", r"\134").replace(" ", r"\040")
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {written} {system} rw 0 0\n", "utf-8")
    assert file_system(place / "pages.db", mounts) == system
    assert file_system(Path("/elsewhere"), mounts) == "ext4"
    monkeypatch.setattr("dedup.index.sqlite_file.file_system", lambda path: system)
    with pytest.raises(IndexUnavailable, match="network file system"):
        check_file(tmp_path / "pages.db")


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
    | st.lists(st.sampled_from(["'", '"', "\n", "\r", "\x1b[31m", "\u202e", "(", "x", " "])).map("".join)
)
@example("'one\nline\nand another")
@example('CREATE TABLE pages ("a\nb')
@example("\x1b[31m\n")
@example("'the disk is full, or locked, or busy")
def test_a_damaged_schema_is_one_line(tmp_path_factory: pytest.TempPathFactory, sql: str) -> None:
    path = filled(tmp_path_factory.mktemp("x") / "pages.db")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'pages'", (sql,))
        connection.execute("UPDATE sqlite_master SET name = ? WHERE name = 'runs'", (sql,))
    connection.close()
    with pytest.raises(IndexUnavailable) as caught:
        SQLiteIndex(path)
    message = str(caught.value)
    assert printable(message, len(message)) == message
    assert len(message) < len(str(path)) + 600
    assert "the file is damaged" in message


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_file_that_is_not_there_any_more_when_the_crawl_ends(tmp_path: Path, is_moved: bool) -> None:
    path = filled(tmp_path / "pages.db")
    with SQLiteIndex(path) as index, Detector(index) as detector:
        assert index.store.is_in_place
        path.rename(tmp_path / "old.db") if is_moved else path.unlink()
        assert detector.check(page(text(2), "http://b/")).kept
        assert not index.store.is_in_place
    filled(path)
    with SQLiteIndex(path) as index:
        assert (len(list(index.rows())), index.problems()) == (1, [])


def tables(path: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as connection:
        return [*connection.execute("SELECT * FROM runs"), *connection.execute("SELECT * FROM pages")]


def test_reads_what_a_living_crawl_writes(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index, Detector(index) as detector:
        detector.check(page(text(1), "http://a/1"))
        with SQLiteIndex(path, read_only=True) as reader:
            assert [row.sighting.url for row in reader.rows()] == ["http://a/1"]
            detector.check(page(edited(1), "http://a/2"))
            assert [row.verdict.kept for row in reader.rows()] == [True, False]
            assert ([run.ended for run in reader.runs.all()], reader.problems()) == ([None], [])


def test_changes_nothing_not_even_a_dead_run(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with SQLiteIndex(path) as index:
        index.store.leases.release(index.runs.begin("spider").id)
    before = tables(path)
    with SQLiteIndex(path, read_only=True) as reader:
        assert [run.ended for run in reader.runs.all()] == [None]
        with pytest.raises(IndexUnavailable, match="cannot be written"):
            reader.runs.begin("spider")
    assert tables(path) == before
    with SQLiteIndex(path) as index:
        assert [run.ending for run in index.runs.all()] == ["died"]


def test_a_missing_file_and_an_empty_one_are_refused(tmp_path: Path) -> None:
    missing = tmp_path / "folder" / "none.db"
    with pytest.raises(IndexUnavailable, match="does not exist"):
        SQLiteIndex(missing, read_only=True)
    assert not missing.parent.exists()
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(IndexUnavailable, match="is empty"):
        SQLiteIndex(empty, read_only=True)


def test_a_path_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#b %41.db"
    with SQLiteIndex(path) as index:
        index.runs.begin("spider")
    with SQLiteIndex(path, read_only=True) as reader:
        assert len(reader.runs.all()) == 1
    assert path.exists()


@pytest.mark.parametrize("place", ["mysql://me:secret@host/db", "redis://host/0", "HTTP://host/x"])
def test_the_address_of_a_server_is_no_file_of_that_name(place: str, tmp_path: Path) -> None:
    for named in (place, Path(place)):
        with pytest.raises(ConfigError) as refused:
            open_index(named)
        assert "secret" not in str(refused.value)
    with pytest.raises(ConfigError) as setting:
        DedupSettings(index=place)
    assert "secret" not in str(setting.value)


def test_it_is_on_no_disk_and_shares_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with MemoryIndex() as one, MemoryIndex() as other, Detector(one) as detector:
        detector.check(page(text(1), "http://a/"))
        assert os.listdir(tmp_path) == []
        for name in (one.name, f"{one.name}-run-{'0' * 32}", "memory", ":memory:"):
            (tmp_path / name).write_text("of somebody else")
        one.runs.end_dead_runs()
        assert [run.ended for run in one.runs.all()] == [None], "its process lives"
        found = one.store.statistics()
        assert (found.rows, found.bytes, other.store.statistics().rows) == (1, 0, 0)
        assert (one.store.is_in_place, one.problems(), one.name) == (True, [], "the index in memory")


# Another schema or recipe: refused, never misread
OLDER = RECIPE_VERSION - 1
PAGES = {"http://a/1": text(1), "http://a/2": text(2), "http://a/3": edited(1)}
REFUSAL = (
    f"was built by a release with recipe={OLDER}, this one has recipe={RECIPE_VERSION}; "
    "use that release again or another DEDUP_INDEX"
)


def run_sql(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return filled(tmp_path / "pages.db", PAGES)


@pytest.fixture
def older(path: Path) -> Path:
    run_sql(path, f"UPDATE meta SET value = '{OLDER}' WHERE name = 'recipe.recipe'")
    return path


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [rows.SCHEMA_VERSION - 1, rows.SCHEMA_VERSION + 1])
def test_another_schema_is_refused_and_left_alone(path: Path, read_only: bool, version: int) -> None:
    run_sql(path, f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    message = f"schema version {version}, this release reads {rows.SCHEMA_VERSION}; "
    with pytest.raises(IndexUnavailable, match=message):
        SQLiteIndex(path, read_only=read_only)
    assert path.read_bytes() == before


def test_so_is_a_set_of_simhashes(tmp_path: Path) -> None:
    path = tmp_path / "simhashes.db"
    BlockIndex(path).close()
    run_sql(path, f"PRAGMA user_version = {search.SCHEMA_VERSION + 1}")
    with pytest.raises(IndexUnavailable, match="upgrade scrapy-dedup, or use another DEDUP_INDEX"):
        BlockIndex(path)


@pytest.mark.parametrize("command", [["report"], ["explain", "http://a/3"], ["check"]])
def test_another_recipe_is_read_as_ever(older: Path, command: list[str]) -> None:
    found = run(*command, older)
    run_sql(older, f"UPDATE meta SET value = '{RECIPE_VERSION}' WHERE name = 'recipe.recipe'")
    assert (found.exit_code, found.exception) == (0, None), found.output
    if command[0] != "check":
        assert found.output == run(*command, older).output


def test_no_page_is_judged_by_it(older: Path) -> None:
    before = older.read_bytes()
    with SQLiteIndex(older) as index, pytest.raises(IndexMismatch) as refused:
        Detector(index)
    assert (str(refused.value), older.read_bytes()) == (f"{older} {REFUSAL}", before)


def test_commands_with_new_pages_say_so_in_one_sentence(older: Path, tmp_path: Path) -> None:
    (page := tmp_path / "new.html").write_text(f"<p>{text(9)}</p>")
    for command in ("add", "explain"):
        refused = run(*with_index([command, str(page)], older))
        assert (refused.exit_code, refused.output) == (1, f"Error: {older} {REFUSAL}\n")
    with SQLiteIndex(older) as index:
        assert len(list(index.rows())) == len(PAGES)
