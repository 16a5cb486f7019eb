"""Who looks and then acts does both in one transaction: others who come between change no answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupConfig, MemoryIndex, PostgresIndex, SQLiteIndex
from dedup.files.merge import Merged, merge
from dedup.index import Index
from dedup.model.errors import IndexMismatch
from tests.support import postgres
from tests.support.pages import checked, text

CONFIG = DedupConfig(scope="global")


@contextmanager
def before_writing(index: Index, act: Callable[[], object], number: int = 1) -> Iterator[None]:
    """Let others *act* before *index* begins to write for the *number*th time: it has looked before."""
    transaction, depth, begun = index.store.transaction, 0, 0

    @contextmanager
    def watched(*, writing: bool, **how: Any) -> Iterator[None]:
        nonlocal depth, begun
        if writing and not depth:
            begun += 1
            if begun == number:
                act()
        depth += 1
        try:
            with transaction(writing=writing, **how):
                yield
        finally:
            depth -= 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index.store, "transaction", watched)
        yield
    assert begun >= number, "nothing was written"


@pytest.fixture(params=["sqlite", "postgres"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Index, Index]]:
    opened: Callable[[], Index]
    if request.param == "postgres":
        address = postgres.empty()
        opened = lambda: PostgresIndex(address)  # noqa: E731
    else:
        opened = lambda: SQLiteIndex(tmp_path / "pages.db", timeout=0.1)  # noqa: E731
    with opened() as one, opened() as other:
        yield one, other


def crawl(index: Index, host: str, spider: str = "s", pages: int = 3) -> None:
    checked(index, {f"http://{host}/{n}": text(n) for n in range(pages)}, CONFIG, spider)


def crawled(host: str, pages: int = 3) -> Index:
    index = MemoryIndex()
    crawl(index, host, host, pages)
    return index


@pytest.mark.parametrize("number", [1, 2])
def test_two_merges_into_one_new_index_take_over_both(two: tuple[Index, Index], number: int) -> None:
    one, other = two
    a, b = crawled("a"), crawled("b")
    with before_writing(one, lambda: merge(b, other, CONFIG), number):
        merge(a, one, CONFIG)
    assert [(run.id, run.spider) for run in one.runs.all()] == [(1, "b"), (2, "a")]
    rows = [(row.sighting.run, row.sighting.host, row.verdict.canonical) for row in one.rows()]
    assert rows == [(1, "b", None)] * 3 + [(2, "a", number) for number in (1, 2, 3)]
    assert one.problems() == []


@pytest.mark.parametrize("number", [1, 2])
def test_a_crawl_begun_during_a_merge_keeps_its_rows(two: tuple[Index, Index], number: int) -> None:
    one, other = two
    a = crawled("a")
    with before_writing(one, lambda: crawl(other, "b"), number):
        merge(a, one, CONFIG)
    assert [run.spider for run in one.runs.all()] == ["s", "a"]
    assert [(it.sighting.run, it.sighting.host) for it in one.rows()] == [(1, "b")] * 3 + [(2, "a")] * 3
    assert one.problems() == []


@pytest.mark.parametrize("number", range(1, 4))
def test_one_index_that_is_merged_twice_at_once_is_there_once(
    two: tuple[Index, Index], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.files.merge._BATCH", 2)
    one, other = two
    crawl(one, "b", pages=1)
    a = crawled("a", pages=4)
    done: list[Merged] = []
    with before_writing(one, lambda: done.append(merge(a, other, CONFIG)), number):
        done.append(merge(a, one, CONFIG))
    assert [run.spider for run in one.runs.all()] == ["s", "a"]
    urls = [row.sighting.url for row in one.rows()]
    assert urls == ["http://b/0", *(f"http://a/{number}" for number in range(4))]
    assert sum(each.pages - each.known for each in done) == 4


def test_of_two_recipes_that_start_one_index_one_is_refused(two: tuple[Index, Index]) -> None:
    one, other = two
    mine, theirs = {"recipe": "1", "jieba_frequencies": "4"}, {"recipe": "1", "jieba_dictionary": "none"}
    told = "was built with jieba_dictionary=none, now jieba_dictionary=nothing"
    with before_writing(one, lambda: other.require_recipe(theirs)):
        with pytest.raises(IndexMismatch, match=told):
            one.require_recipe(mine)
    for index in two:
        index.require_recipe(theirs)
        assert index.recipe() == theirs


def test_who_was_given_up_does_not_end_a_run_that_others_went_on_with(two: tuple[Index, Index]) -> None:
    one, other = two
    run = one.runs.begin("s", job="j")
    other.runs.end(run, "died")
    resumed = other.runs.begin("s", job="j")
    assert resumed.id == run.id
    one.runs.end(run, "finished")
    assert [(each.id, each.ended) for each in other.runs.all()] == [(run.id, None)]
    other.runs.end(resumed, "shutdown")
    assert [each.ending for each in one.runs.all()] == ["shutdown"]


def test_a_dead_run_that_somebody_goes_on_with_is_not_ended(path: Path) -> None:
    with SQLiteIndex(path) as one, SQLiteIndex(path) as other:
        run = one.runs.begin("s", job="j")
        one.store.leases.release(run.id)  # as when its process is killed

        def go_on() -> None:
            with SQLiteIndex(path) as found:
                assert [each.ending for each in found.runs.all()] == ["died"]
            assert other.runs.begin("s", job="j").id == run.id

        with before_writing(one, go_on):
            one.runs.end_dead_runs()
        assert [(each.id, each.ended) for each in one.runs.all()] == [(run.id, None)]
