"""An index on a server is a log that each machine follows: all have the same, however they came by it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from filelock import FileLock

from dedup import DedupConfig, PostgresIndex, fingerprint
from dedup.index import Index, Row
from dedup.model.errors import IndexUnavailable, ServerAway
from dedup.model.fingerprint import Fingerprint
from dedup.reading.page import pack
from tests.support.pages import claim, edited, find_or_add, page, sighting, text

CONFIG = DedupConfig(scope="global", store_pages=True)
TEXTS = 12
_TEXT = pack(page("What nobody may read."))


Machine = Callable[[str], AbstractContextManager[PostgresIndex]]


@pytest.fixture
def machine(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Open the index on a machine whose files are in a folder of that name."""

    @contextmanager
    def opened(name: str) -> Iterator[PostgresIndex]:
        with monkeypatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
            index = PostgresIndex(address)
        with index:
            yield index

    return opened


@cache
def prints() -> list[Fingerprint]:
    """Return pages, some of which are like others, and some equal."""
    return [fingerprint(page(edited(n % TEXTS, n % 5), template=n % 3)) for n in range(5 * TEXTS)]


def history(indexes: list[Index], rng: Random, steps: int) -> None:
    """Let *indexes* add, confirm, release, forget, restore and take back."""
    runs = [index.runs.begin(f"s{number}") for number, index in enumerate(indexes)]
    pending: list[tuple[int, int]] = []
    for _ in range(steps):
        at = rng.randrange(len(indexes))
        ledger, does = indexes[at].ledger, rng.randrange(12)
        if does < 8:
            printed, url = rng.choice(prints()), f"http://a.example/{rng.randrange(40)}"
            is_sure = rng.random() < 0.3
            how: dict[str, Any] = {"confirmed": is_sure, "page": _TEXT}
            verdict = find_or_add(indexes[at], printed, url, run=runs[at], config=CONFIG, **how)
            if verdict.kept and verdict.row and not is_sure:
                pending.append((at, verdict.row))
        elif does < 10 and pending:
            at, row = pending.pop(rng.randrange(len(pending)))
            (indexes[at].ledger.confirm if does == 8 else indexes[at].ledger.release)(row)
        elif does == 10:
            ledger.forget(url=f"http://a.example/{rng.randrange(40)}")
        else:
            ledger.restore(url=f"http://a.example/{rng.randrange(40)}")
    for index, run in zip(indexes, runs, strict=True):
        index.runs.end(run, "finished")


def all_of(index: Index) -> list[Row]:
    store: Any = index.store
    if isinstance(index, PostgresIndex):
        store._read()
    assert index.problems() == []
    return list(index.rows())


@pytest.mark.parametrize("seed", range(4))
def test_all_agree(machine: Machine, seed: int) -> None:
    """Also one that came later."""
    with ExitStack() as stack:
        three: list[Index] = [stack.enter_context(machine(name)) for name in "012"]
        history(three, Random(seed), 200)
        first, *others = [all_of(index) for index in three]
    with machine("late") as late:
        others.append(all_of(late))
    assert len(first) > 50
    assert [other == first for other in others] == [True] * 3


def test_a_file_that_was_removed_or_not_made_to_the_end_is_made_anew(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine("") as index:
        history([index], Random(1), 100)
        before = all_of(index)
    (file,) = (tmp_path / "scrapy-dedup").glob("*.db")
    file.unlink()
    from dedup.index.server import Replica

    does = Replica._do

    def does_some(replica: Replica, entries: Any) -> None:
        does(replica, entries[:50])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Replica, "_do", does_some)
        with pytest.raises(KeyboardInterrupt), machine(""):
            pass
    with machine("") as index:
        assert all_of(index) == before


@pytest.mark.parametrize("ends", [[""], ["", "-wal", "-shm"]])
def test_a_file_removed_while_it_is_read(machine: Machine, tmp_path: Path, ends: list[str]) -> None:
    """Nothing is lost: who has it open goes on with it, who comes makes a new one, and both have the same."""
    with machine("") as one:
        history([one], Random(1), 50)
        reading = one.rows()
        before = [next(reading)]
        (file,) = (tmp_path / "scrapy-dedup").glob("*.db")
        for end in ends:
            file.with_name(file.name + end).unlink()
        with machine("") as other:
            history([one, other], Random(2), 50)
            before += reading
            assert all_of(one) == all_of(other)
            assert len(all_of(one)) > len(before) > 20
            tables = "SELECT sql FROM sqlite_master ORDER BY name"
            assert one.store.fetch(tables) == other.store.fetch(tables)


def test_who_waits_for_another_process_that_makes_the_file_says_so_and_not_for_ever(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with machine(""):
        (file,) = (tmp_path / "scrapy-dedup").glob("*.db")
    monkeypatch.setattr("dedup.index.server._QUIET", 0.1)
    monkeypatch.setattr("dedup.index.server._PATIENCE", 0.1)
    with FileLock(f"{file}.lock"):
        too_long = f"another process held {file}.lock for too long; end one that is stopped"
        with pytest.raises(ServerAway, match=too_long), machine(""):
            pass
    assert f"this waits for another process to make {file}" in caplog.text
    with machine("") as index:
        assert index.problems() == []


def restored(index: PostgresIndex, position: int) -> None:
    """Bring the server back to what it was at *position*, and let another client go on from there."""
    store: Any = index.store
    *_, row, does = [entry for batch in store._server.since(0, 0) for entry in batch][position - 1]
    rows = row - 1 + does.count(b"\xa3add")
    store._server.execute(f"DELETE FROM @.log WHERE position > {position}")
    store._server.execute(f"UPDATE @.state SET position = {position}, rows = {rows}")


def test_a_server_that_was_restored_is_followed_from_the_beginning(machine: Machine) -> None:
    with machine("1") as index:
        index.prepare()
        run = index.runs.begin("s")
        for n in range(6):
            find_or_add(index, fingerprint(page(text(n))), f"http://a/{n}", run=run, config=CONFIG)
        seen = sighting(fingerprint(page(text(9))), "http://a/9", run=run, config=CONFIG)
        verdict, at = index.ledger.judge(seen, CONFIG), index.store.position()
        position = index.store.position()[0]  # type: ignore[index]
        restored(index, position - 3)
        with machine("2") as other:
            for number in range(20, 25):
                shown = fingerprint(page(text(number)))
                find_or_add(other, shown, f"http://b/{number}", run=run, config=CONFIG)
        # What is asked again is judged by what the server has by now.
        assert claim(index, seen, verdict, at) is None
        again = find_or_add(index, fingerprint(page(text(24))), "http://a/9", run=run, config=CONFIG)
        assert again.canonical_url == "http://b/24"
        now = all_of(index)
        restored(index, 1)
        with pytest.raises(IndexUnavailable, match="was restored or made anew meanwhile"):
            find_or_add(index, seen.fingerprint, "http://a/9", run=run, config=CONFIG, confirmed=False)
        now = all_of(index)
    with machine("1") as index:
        assert [row.sighting.url for row in all_of(index)] == [row.sighting.url for row in now]


def test_what_is_told_is_on_the_disk_of_the_server(address: str) -> None:
    with PostgresIndex(address) as index:
        store: Any = index.store
        server, run = store._server, index.runs.begin("s")
        for number, seen in enumerate(prints()[:TEXTS]):
            ((before,),) = server.execute("SELECT pg_current_wal_insert_lsn()::text", ())
            row = find_or_add(index, seen, f"http://a/{number}", run=run, config=CONFIG).row
            found = server.execute("SELECT pg_current_wal_flush_lsn() > %s::pg_lsn", (before,))
            assert row
            assert found.fetchall() == [(True,)]


def test_what_is_far_from_all_that_came_meanwhile_is_added_at_once(machine: Machine) -> None:
    with ExitStack() as stack:
        one, two = (stack.enter_context(machine(n)) for n in "12")
        one.prepare()
        two.prepare()
        runs = one.runs.begin("1"), two.runs.begin("2")
        asked = []
        for number, add in enumerate((text(1), edited(2, 1))):
            seen = sighting(fingerprint(page(text(2))), "http://b/2", run=runs[1], config=CONFIG)
            two.store._read()  # type: ignore[attr-defined]
            verdict, at = two.ledger.judge(seen, CONFIG), two.store.position()
            find_or_add(one, fingerprint(page(add)), f"http://a/{number}", run=runs[0], config=CONFIG)
            asked.append(claim(two, seen, verdict, at) is None)
            if not asked[-1]:
                two.ledger.forget(url="http://b/2")
        assert asked == [False, True]


def test_texts_are_beside_the_log_and_can_be_removed(address: str) -> None:
    with PostgresIndex(address) as index:
        run, shown = index.runs.begin("s"), fingerprint(page(text(1)))
        find_or_add(index, shown, "http://a/1", run=run, config=CONFIG, page=_TEXT)
        store: Any = index.store
        log = store._server
        assert [*store.all_pages()] == [_TEXT]
        assert not any(_TEXT in entry[-1] for batch in log.since(0, 0) for entry in batch)
        index.ledger.forget(url="http://a/1")
        assert [*store.all_pages()] == []


def test_a_machine_without_a_place_for_its_file_has_one_in_a_temporary_folder(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with machine("cache") as index:
        history([index], Random(1), 20)
        assert all_of(index)
    (folder,) = tmp_path.glob("scrapy-dedup-*")
    assert folder.stat().st_mode & 0o077 == 0
