"""What an index on a server finds among pages with a common frame, and what a question costs there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.templated import Crawl
from dedup import DedupConfig, Detector, Page, PostgresIndex, SQLiteIndex, fingerprint
from dedup.algorithms.sketch import BINS
from dedup.index.stores.postgres.search import code_of, unlike_bits
from dedup.rule import loss
from dedup.rule.keys import BANDING
from dedup.rule.similarity import may_pass
from dedup.values.verdict import Outcome, Reason
from tests import postgres
from tests.bounds import bounds
from tests.crawling import wait_until
from tests.pages import edited, page, text
from tests.sightings import find_or_add

CONFIG = DedupConfig(by_bands=True)
PRINT = fingerprint(page(text(1)))


@pytest.fixture
def index() -> Iterator[PostgresIndex]:
    with PostgresIndex(postgres.empty()) as index:
        index.prepare(CONFIG)
        yield index
        assert index.problems() == []


# Candidates


def code(sketch: bytes) -> int:
    return int.from_bytes(code_of(sketch))


@given(
    st.binary(min_size=BINS, max_size=BINS),
    st.lists(st.tuples(st.integers(0, BINS - 1), st.integers(0, 255)), max_size=BINS),
    st.sampled_from([0.1, 0.5, 0.62, 0.9, 1.0]),
)
def test_the_server_rules_out_nothing_that_may_pass(
    sketch: bytes, changes: list[tuple[int, int]], least: float
) -> None:
    other = bytearray(sketch)
    for place, value in changes:
        other[place] = value
    one = replace(PRINT, sketch=sketch)
    with bounds(MIN_SIMILARITY=least):
        if may_pass(one, [bytes(other)]) == [True]:
            assert (code(sketch) ^ code(bytes(other))).bit_count() <= unlike_bits(sketch)


def test_it_rules_out_most_of_what_shares_a_frame() -> None:
    random = Random(1)
    frame = random.randbytes(BINS // 4)
    sketches = [frame + random.randbytes(BINS - len(frame)) for _ in range(100)]
    most = unlike_bits(sketches[0])
    apart = [(code(sketches[0]) ^ code(sketch)).bit_count() for sketch in sketches[1:]]
    assert min(apart) > most


def test_what_is_like_a_page_is_found_if_all_its_bands_are_crowded(index: PostgresIndex) -> None:
    """A key that 64 rows have is looked up only where too few are rarer; here none is."""
    run, random = index.begin_run("s"), Random(1)
    frame = bytes(random.randrange(1, 256) for _ in range(BANDING.length))
    crowd = [frame + random.randbytes(BINS - len(frame)) for _ in range(100)]
    for number, sketch in enumerate(crowd):
        kept = find_or_add(index, unlike(number, sketch), f"http://a/{number}", run=run, config=CONFIG)
        assert kept.reason is Reason.NEW
    for number in (0, 63, 64, 99):
        copy = unlike(1000 + number, crowd[number])
        found = find_or_add(index, copy, f"http://b/{number}", run=run, config=CONFIG)
        assert (found.reason, found.canonical) == (Reason.NEAR_DUPLICATE, number + 1)


def unlike(number: int, sketch: bytes) -> Any:
    """Return a page that nothing but its sketch leads to."""
    digest = number.to_bytes(16, "big")
    return replace(PRINT, sketch=sketch, body_digest=digest, token_digest=digest, sample=b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame", [0.5, *(pytest.param(one, marks=pytest.mark.nightly) for one in (0.25, 0.75))]
)
def test_copies_among_pages_with_one_frame_are_found_as_in_a_file(
    index: PostgresIndex, frame: float, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a site of 600 pages a frame crowds most bands: half of all pages may share one."""
    # Whether a copy is found, and not whether it says enough of its own to be kept.
    monkeypatch.setattr(loss, "_new_pairs", lambda *_: 0)
    crawl = Crawl(600, sites=1, frame=frame)
    with SQLiteIndex(tmp_path / "pages.db") as file:
        found = []
        for one in (index, file):
            with Detector(one, CONFIG) as detector:
                pages = (Page.from_text(crawl.text(n), url=crawl.url(n)) for n in range(crawl.count))
                found.append([detector.check(page) for page in pages])
    assert [verdict.canonical for verdict in found[0]] == [verdict.canonical for verdict in found[1]]
    copies = [n for n in range(crawl.count) if crawl.is_copy(n)]
    assert sum(not found[0][n].kept for n in copies) >= 0.99 * len(copies)
    assert all(verdict.kept for n, verdict in enumerate(found[0]) if not crawl.is_copy(n))


# Questions


class Statements:
    """The statements that *index* is asked from now on."""

    def __init__(self, index: PostgresIndex, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[str] = []
        server: Any = index.store._server  # type: ignore[attr-defined]
        for name in ("execute", "script"):
            monkeypatch.setattr(server, name, self._telling(getattr(server, name)))

    def _telling(self, run: Any) -> Any:
        def told(text: str, *values: Any) -> Any:
            self.told.append(text)
            return run(text, *values)

        return told


def test_a_new_page_is_asked_about_and_added_by_one_statement(
    index: PostgresIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Detector(index, CONFIG) as detector:
        first = detector.submit(detector.sighting(page(text(1), "http://a/1")))
        said = Statements(index, monkeypatch)
        second = detector.submit(detector.sighting(page(text(2), "http://a/2")))
        assert (second.reason, len(said.told)) == (Reason.NEW, 1)
        copy = detector.submit(detector.sighting(page(edited(1), "http://a/3")))
        assert (copy.reason, copy.canonical) == (Reason.NEAR_DUPLICATE, first.row)
        again = detector.submit(detector.sighting(page(text(3), "http://a/2")))
        assert again.reason is Reason.NEW
        assert len({first.row, second.row, copy.row, again.row}) == 4


def test_no_question_reads_all_pages_of_an_index_that_began_empty() -> None:
    """Its plans are made while there are no pages, and kept until the server has counted some."""
    pages, address = 120, postgres.empty("young")
    read, added = _counted(address)
    with PostgresIndex(address) as young:
        _crawl(young, "a", pages, different=100, confirmed=True)
    wait_until(partial(_has_counted, address, added + pages))
    assert _counted(address)[0] - read < 10 * pages


def test_no_question_reads_all_pages_of_a_run_that_began_since_the_server_has_counted() -> None:
    pages, address = 120, postgres.empty("young")
    for host in ("a", "b"):
        read, added = _counted(address)
        with PostgresIndex(address) as young:
            _crawl(young, host, pages, different=60, confirmed=True)
            server: Any = young.store._server  # type: ignore[attr-defined]
            server.script("ANALYZE @.pages")
        wait_until(partial(_has_counted, address, added + pages))
    assert _counted(address)[0] - read < 20 * pages


@pytest.mark.parametrize("pages", [0, 2, 3, 4, 6, 7])
def test_what_is_on_sites_is_read_in_batches(
    index: PostgresIndex, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    run = index.begin_run("s")
    for number in range(pages):
        printed = fingerprint(page(text(number)))
        find_or_add(index, printed, f"http://a/{number}", run=run, config=CONFIG)
    rows = [row.id for row in index.rows()]
    monkeypatch.setattr("dedup.index.stores.postgres.counts._TEXTS", 3)
    assert [found.id for found in index.store.kept_texts(0)] == rows
    assert [found.id for found in index.store.kept_texts(rows[0] if rows else 0)] == rows[1:]


def _crawl(
    index: PostgresIndex, host: str, pages: int, *, different: int, confirmed: bool = False
) -> None:
    """Submit *pages* of *host*, so many of them *different* from each other, then edits of these."""
    index.prepare(CONFIG)
    with Detector(index, CONFIG) as detector:
        for number in range(pages):
            one = page(edited(number % different, number // different), f"http://{host}/{number}")
            detector.submit(detector.sighting(one), confirmed=confirmed)


def _has_counted(address: str, added: int) -> bool:
    return _counted(address)[1] == added


def _counted(address: str) -> tuple[int, int]:
    """Return how many rows of pages its server has read, and how many were added, ever."""
    import psycopg

    conninfo, _, schema = address.partition("&schema=")
    with psycopg.connect(conninfo) as connection:
        found = connection.execute(
            "SELECT idx_tup_fetch + seq_tup_read, n_tup_ins FROM pg_stat_user_tables "
            "WHERE schemaname = %s AND relname = 'pages'",
            (schema,),
        ).fetchone()
    return found or (0, 0)


def test_a_guess_is_wrong_where_another_client_was_faster(
    index: PostgresIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresIndex(postgres.server().address()) as other:
        run = index.begin_run("s")
        for number, one in enumerate((index, other)):  # so that both know the epoch, and guess
            first = fingerprint(page(text(number)))
            find_or_add(one, first, f"http://a/{number}", run=run, config=CONFIG)
        printed = fingerprint(page(text(7)))
        kept = find_or_add(index, printed, "http://a/7", run=run, config=CONFIG)
        said = Statements(other, monkeypatch)
        copy = find_or_add(other, printed, "http://b/7", run=run, config=CONFIG)
        assert (kept.reason, copy.reason, copy.canonical) == (
            Reason.NEW,
            Reason.EXACT_DUPLICATE,
            kept.row,
        )
        assert "claim_new" in said.told[0]
        assert not any("nearby" in text for text in said.told)


def test_a_page_is_confirmed_without_writing_its_row_anew(index: PostgresIndex) -> None:
    with Detector(index, CONFIG) as detector:
        rows = [
            detector.submit(detector.sighting(page(text(number), f"http://a/{number}"))).row
            for number in range(3)
        ]
        store: Any = index.store

        def versions() -> list[Any]:
            found: list[Any] = store._server.execute(
                "SELECT xmin::text, ctid::text FROM @.pages"
            ).fetchall()
            return found

        before = versions()
        assert {row.outcome for row in index.rows()} == {Outcome.PENDING}
        index.ledger.confirm(*[row for row in rows if row])
        assert {row.outcome for row in index.rows()} == {Outcome.CONFIRMED}
        assert versions() == before
