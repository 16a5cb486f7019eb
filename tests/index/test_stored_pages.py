"""An index keeps pages when it is told to, gives them back, and forgets them for good."""

import json
from pathlib import Path

import pytest

from dedup import DedupConfig, Detector, MemoryIndex, Page, SQLiteIndex
from dedup.files.adding import Adding, find_feeds
from dedup.index import Index
from dedup.index import index as module
from dedup.model.marks import Exceptions, Said
from dedup.reading.fields import FieldRule
from dedup.reading.noise import MarkedPlaces
from dedup.reading.page import UnreadablePage, pack
from dedup.settings import DedupSettings
from tests.support.pages import checked, edited, page, text

STORING = DedupConfig(store_pages=True)
SECRET = "quite an unusual sentence about a lighthouse that nobody else has written"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "pages.db"
    with SQLiteIndex(found) as index:
        checked(index, {"http://a/1": text(1), "http://a/2": SECRET}, STORING)
    return found


def test_pages_come_back_with_what_their_row_knows(index: Index) -> None:
    first, copy = page(text(1), "http://a/1"), page(edited(1), "http://a/2")
    assert not checked(index, [first, copy], STORING)[1].kept
    assert [index.page_of(row) for row in index.rows()] == [first, copy]


def test_nothing_is_kept_by_default_which_is_no_part_of_the_recipe(index: Index) -> None:
    for config in (DedupConfig(), STORING):
        checked(index, {"": text(1)}, config)
    assert index.page_of(index.row(1)) is None


@pytest.mark.parametrize("is_stored", [True, False])
def test_what_stands_in_a_place_marked_later_is_known_if_stored(index: Index, is_stored: bool) -> None:
    """Where it is not, a page that is like it is kept, unless all of its text is the same."""
    like = f"{edited(1)}\nEUR 9", f"{edited(1)}\nEUR 5", f"{text(1)}\nEUR 9"
    pages = [Page.from_text(one, url=f"http://a/{n}") for n, one in enumerate((like[2], *like))]

    def kept(*words: str) -> list[bool]:
        places = [json.dumps(["text", [word], ["$"], "", False]) for word in words]
        said = Exceptions.of([Said("", "", "different", "a", place) for place in places])
        config = DedupConfig(store_pages=is_stored, exceptions=said)
        first, *others = map(MarkedPlaces(said).obeyed, pages)
        with Detector(index, config) as detector:
            detector.check(first)
            return [detector.judge(one).kept for one in others]

    assert kept() == [False] * 3
    for words in (["EUR"], ["EUR", "USD"]):
        assert kept(*words) == [not is_stored, True, False]
    assert kept() == [False] * 3


def test_what_is_forgotten_is_not_left_in_the_file(path: Path) -> None:
    packed = pack(page(SECRET))
    with SQLiteIndex(path) as index:
        index.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert packed in path.read_bytes()
        index.ledger.forget(url="http://a/2")
    assert not any(packed in file.read_bytes() for file in path.parent.glob("pages.db*"))


def test_a_damaged_page_is_a_clear_error_and_is_counted(path: Path) -> None:
    with SQLiteIndex(path) as index:
        index.store.connection.execute("UPDATE stored_pages SET page = 'no blob' WHERE row = 2")
        with pytest.raises(UnreadablePage, match=r"pages\.db: the page of row 2: it is not in a form"):
            index.page_of(index.row(2))
        assert [index.text_of(index.row(row)) for row in (1, 2)] == [text(1), None]
        assert index.problems() == ["1 stored page cannot be read"]
        assert index.page_of(index.row(1)) == page(text(1), "http://a/1")
        index.store.connection.execute("UPDATE stored_pages SET row = 99 WHERE row = 1")
        assert "stored_pages 99 names a row of pages that is not there" in index.problems()


FIRST = DedupConfig(store_first=5)


def stored(index: Index) -> list[int]:
    return [row.id for row in index.rows() if index.text_of(row) is not None]


def check(index: Index, config: DedupConfig, *seeds: int) -> None:
    checked(index, {f"http://a/{seed}": text(seed) for seed in seeds}, config)


def test_the_first_pages_of_a_file_have_texts_in_however_many_runs(tmp_path: Path) -> None:
    with SQLiteIndex(tmp_path / "a.db") as index:
        check(index, FIRST, 1, 2, 3)
        check(index, FIRST, 4, 5, 6, 7)
        assert stored(index) == [1, 2, 3, 4, 5]
        index.ledger.forget(url="http://a/2")
        assert stored(index) == [1, 3, 4, 5]
        check(index, FIRST, 8)
        assert stored(index) == [1, 3, 4, 5]
        check(index, DedupConfig(store_pages=True), 9)
        assert stored(index) == [1, 3, 4, 5, 9]


def test_they_take_no_more_than_their_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 2900)
    for run in (1, 2):
        with SQLiteIndex(tmp_path / "a.db") as index:
            check(index, DedupConfig(store_first=100), *range(10 * run, 10 * run + 5))
            sizes = [*map(len, index.store.all_pages())]
            assert 2900 - 2 * max(sizes) < sum(sizes) <= 2900
            assert max(stored(index)) <= 5


def test_later_ones_are_those_of_copies_that_lose_words_of_what_changed_and_of_their_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LAST", 2)

    def visit(seeds: dict[str, str]) -> list[int]:
        with SQLiteIndex(tmp_path / "a.db") as index:
            with Detector(index, FIRST) as asked:
                for path, said in seeds.items():
                    one = page(said, f"http://a/{path}")
                    asked.texts.compared(one, asked.check(one))
            return stored(index)

    first = {str(number): text(number) for number in range(8)}
    copies = {"of 7": edited(7), "same": text(7)} | {f"of {n}": edited(n) for n in (6, 5, 0)}
    assert visit(first | copies) == [1, 2, 3, 4, 5, 7, 8, 9, 11, 13]
    later = {"0": edited(0, 5), "5": edited(5, 5)}  # of the text of 5 nothing is known any more
    assert visit(later) == [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 14]
    monkeypatch.setattr(module, "MOST_BYTES", 1)
    assert visit({"1": edited(1, 5)}) == [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 14]


def test_a_memory_and_a_server_keep_none() -> None:
    index = MemoryIndex()
    check(index, FIRST, 1, 2)
    assert stored(index) == []


def test_pages_of_files_have_texts_too(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    for seed in range(8):
        (tmp_path / "html" / f"{seed}.html").write_text(f"<html><body><p>{text(seed)}</p></body></html>")
    with SQLiteIndex(tmp_path / "a.db") as index:
        inputs = find_feeds([tmp_path / "html"], FieldRule())
        Adding(index, inputs, DedupSettings(config=FIRST)).work()
        assert stored(index) == [1, 2, 3, 4, 5]
