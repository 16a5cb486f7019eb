"""Whatever happens to an index, the SQLite file gives the answers of the linear scan."""

import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dedup import DedupConfig, MemoryIndex, PostgresIndex, SQLiteIndex, Verdict, fingerprint
from dedup.index import Index, Row, Run
from dedup.model.fingerprint import BINS, Fingerprint
from dedup.model.verdict import Outcome
from dedup.reading.page import pack
from tests.oracle.scan_store import ScanIndex
from tests.support import postgres
from tests.support.budget import examples
from tests.support.crawling import bounds
from tests.support.pages import edited, find_or_add, page, text

CONFIGS = [DedupConfig(), DedupConfig(max_lost_words=300), DedupConfig(unchanged="drop")]
CONFIGS += [DedupConfig(max_distance=12), DedupConfig(scope="host", max_distance=3)]
URLS = ["", "http://a/1", "http://a/2", "http://b/1", "http://b/1#x"]
CONTENTS = [text(1), edited(1), edited(1, 20), edited(1, 50), text(2), edited(2), "a b", "b a", ""]
PRINTS: list[Fingerprint] = [
    fingerprint(page(content, template=template)) for content in CONTENTS for template in (0, 3)
] + [fingerprint(page(" ")), Fingerprint(0, 0, bytes(256), b"", b"", 0)]
# One word less some bits, of four texts in turn: more candidates than the caps let through.
CROWD = [
    replace(
        fingerprint(page(text(3 + number % 4), template=number)),
        content_simhash=PRINTS[0].content_simhash ^ ((1 << number % 8) - 1),
        body_digest=bytes([number]) * 16,
        token_digest=bytes([number]) * 16,
    )
    for number in range(16)
]
ALL_PRINTS = PRINTS + CROWD  # the first text, and more

PACKED = pack(page(text(1)))

QUESTION: dict[str, st.SearchStrategy[Any]] = {
    "found": st.integers(0, len(ALL_PRINTS) - 1),
    "url": st.integers(0, len(URLS) - 1),
    "config": st.integers(0, 11),
    "link": st.integers(0, len(URLS) - 1),
    "kind": st.sampled_from(["page", "page", "item"]),
    "confirmed": st.booleans(),
    "wait_for": st.sets(st.integers(1, 5), max_size=2),
    "newest": st.booleans(),
    "page": st.sampled_from([b"", PACKED]),
    "item_key": st.sampled_from(["", "", "", "1", "2"]),
    "is_dry": st.sampled_from([False, False, False, True]),
}
BURST = st.lists(st.fixed_dictionaries(QUESTION), min_size=1, max_size=5)
# Nothing is asked but one group, of pages that are alike, by one configuration.
CROWDED = st.fixed_dictionaries(
    QUESTION
    | {"kind": st.just("page"), "config": st.sampled_from([0, 3]), "link": st.just(0)}
    | {"url": st.integers(0, 2), "item_key": st.just("")}
    | {"found": st.sampled_from(range(8)) | st.sampled_from(range(len(PRINTS), len(ALL_PRINTS)))}
)
CROWD_BURST = st.lists(CROWDED, min_size=1, max_size=5)

# At least every second step is a question: Hypothesis leaves rules out at random, so copies of the
# rule would not do.
between_questions = precondition(lambda self: self.balance > 0)


class SameAnswers(RuleBasedStateMachine):
    configs = CONFIGS
    prints = ALL_PRINTS
    oracle = ScanIndex
    storage: Any = SQLiteIndex
    most = 1000

    def __init__(self) -> None:
        super().__init__()
        self.bounds = ExitStack()
        self.bounds.enter_context(bounds(MAX_CANDIDATES=self.most))
        self.folder = tempfile.TemporaryDirectory()
        self.slow: Index = self.oracle()
        self.fast = self.opened(is_new=True)
        for index in (self.slow, self.fast):
            index.prepare()
        self.runs: list[tuple[Run, Run]] = []
        self.pending: list[int] = []
        self.asked: list[dict[str, Any]] = []
        self.balance, self.has_asked = 1, False
        self.begin_run(job="")

    def opened(self, *, is_new: bool = False) -> Any:
        """Open what is to give the answers of the oracle."""
        return self.storage(Path(self.folder.name) / "pages.db")

    @between_questions
    @rule(job=st.sampled_from(["", "job"]), crawl=st.sampled_from(["", "", "crawl"]))
    def begin_run(self, job: str, crawl: str = "") -> None:
        slow, fast = (it.runs.begin("s", job=job, crawl=crawl) for it in (self.slow, self.fast))
        assert slow.id == fast.id
        self.runs = [runs for runs in self.runs if runs[0].id != slow.id] + [(slow, fast)]

    @between_questions
    @precondition(lambda self: len(self.runs) > 1)
    @rule(ending=st.sampled_from(["finished", "shutdown"]))
    def end_run(self, ending: str) -> None:
        slow, fast = self.runs.pop(0)
        self.slow.runs.end(slow, ending)
        self.fast.runs.end(fast, ending)

    def ask(self, found: int, url: int, config: int, link: int, newest: bool, **about: Any) -> None:
        self.has_asked = True
        about |= {"config": self.configs[config % len(self.configs)], "canonical_link": URLS[link]}
        slow, fast = (
            find_or_add(index, self.prints[found % len(self.prints)], URLS[url], run=run, **about)
            for index, run in zip((self.slow, self.fast), self.runs[-1 if newest else 0], strict=True)
        )
        assert fast == slow
        if slow.kept and slow.row and not about["confirmed"]:
            self.pending.append(slow.row)

    @rule(question=st.fixed_dictionaries(QUESTION))
    def find_or_add(self, question: dict[str, Any]) -> None:
        self.ask(**question)

    @rule(asked=BURST | CROWD_BURST)
    def find_or_add_some(self, asked: list[dict[str, Any]]) -> None:
        self.asked = asked
        for question in asked:
            self.ask(**question)

    @rule(asked=CROWD_BURST)
    def find_or_add_a_crowd(self, asked: list[dict[str, Any]]) -> None:
        self.find_or_add_some(asked)

    @precondition(lambda self: self.asked)
    @rule(changed=st.integers(0, 4), found=QUESTION["found"], stays=st.booleans(), ends=st.booleans())
    def find_or_add_again(self, changed: int, found: int, stays: bool, ends: bool) -> None:
        while ends and self.runs:
            self.end_run("finished")
        self.begin_run(job="")
        again = [question | {"newest": True} for question in self.asked]
        if changed < len(again):
            again[changed : changed + (not stays)] = [again[changed] | {"found": found}]
        self.find_or_add_some(again)

    @between_questions
    @precondition(lambda self: self.pending)
    @rule(kept=st.booleans(), place=st.integers(0, 5))
    def settle(self, kept: bool, place: int) -> None:
        row = self.pending.pop(-1 - place % len(self.pending))
        for index in (self.slow, self.fast):
            (index.ledger.confirm if kept else index.ledger.release)(row)

    @between_questions
    @rule(place=st.integers(0, 5))
    def forget(self, place: int) -> None:
        run = self.slow.runs.all()[-1 - place % len(self.slow.runs.all())].id
        assert self.fast.runs.forget(run) == self.slow.runs.forget(run)

    @between_questions
    @rule(url=st.integers(0, len(URLS) - 1))
    def forget_url(self, url: int) -> None:
        assert self.fast.ledger.forget(url=URLS[url]) == self.slow.ledger.forget(url=URLS[url])

    @between_questions
    @rule(scope=st.sampled_from(["s", "", "a", "b"]), host=st.sampled_from(["a", "b"]))
    def visit(self, scope: str, host: str) -> None:
        for index, run in zip((self.slow, self.fast), self.runs[-1], strict=True):
            index.runs.visit(run, scope, host)

    @between_questions
    @rule(url=st.integers(0, len(URLS) - 1), place=st.integers(0, 5), of_run=st.booleans())
    def restore_copies(self, url: int, place: int, of_run: bool) -> None:
        run = self.slow.runs.all()[-1 - place % len(self.slow.runs.all())].id
        ledgers = self.slow.ledger, self.fast.ledger
        slow, fast = (it.restore(run=run) if of_run else it.restore(url=URLS[url]) for it in ledgers)
        assert [row.id for row in fast] == [row.id for row in slow]

    @between_questions
    @rule(url=st.integers(0, len(URLS) - 1))
    def history(self, url: int) -> None:
        slow, fast = self.slow.history(URLS[url]), self.fast.history(URLS[url])
        assert [row.id for row in fast] == [row.id for row in slow]
        assert [self.fast.page_of(row) for row in fast] == [self.slow.page_of(row) for row in slow]
        assert [row.id for row in self.fast.orphans()] == [row.id for row in self.slow.orphans()]

    @between_questions
    @rule(found=st.sampled_from(PRINTS), most=st.sampled_from([0, 5, 20, 64]), limit=st.integers(0, 4))
    def near(self, found: Fingerprint, most: int, limit: int) -> None:
        slow, fast = (it.near(found, max_distance=most, limit=limit) for it in (self.slow, self.fast))
        assert [row.id for row in fast] == [row.id for row in slow]

    @between_questions
    @rule(limit=st.integers(0, 3), run=st.integers(1, 3))
    def clusters(self, limit: int, run: int) -> None:
        slow, fast = (index.store.clusters(run, limit) for index in (self.slow, self.fast))
        assert [(row.id, copies) for row, copies in fast] == [(row.id, copies) for row, copies in slow]

    @between_questions
    @precondition(lambda self: not self.pending)
    @rule()
    def reopen(self) -> None:
        for slow, fast in self.runs:
            self.slow.runs.end(slow, "shutdown")
            self.fast.runs.end(fast, "shutdown")
        self.close_and_open()
        self.runs = []
        self.begin_run(job="")

    def close_and_open(self) -> None:
        self.fast.close()
        self.fast = self.opened()

    @invariant()
    def count_questions(self) -> None:
        self.balance += 1 if self.has_asked else -1
        self.has_asked = False

    @invariant()
    def same_rows(self) -> None:
        assert [_facts(row) for row in self.fast.rows()] == [_facts(row) for row in self.slow.rows()]

    @invariant()
    def same_statistics(self) -> None:
        slow, fast = self.slow.store.statistics(), self.fast.store.statistics()
        assert fast._replace(bytes=0) == slow

    @invariant()
    def sound(self) -> None:
        assert self.fast.problems() == []

    def teardown(self) -> None:
        self.bounds.close()
        self.fast.close()
        self.folder.cleanup()


def _facts(row: Row) -> tuple[int, Verdict, Outcome, bool, str, int]:
    found = row.verdict
    facts = (found.reason, found.kept, found.canonical, found.previous, found.replaces)
    return (row.id, facts, row.outcome, row.listed, row.sighting.url_key, row.sighting.run)  # type: ignore[return-value]


class SameAnswersInMemory(SameAnswers):
    storage = MemoryIndex
    most = 2

    def opened(self, *, is_new: bool = False) -> Any:
        return MemoryIndex()

    def close_and_open(self) -> None:
        """Nothing would be left."""


class SameAnswersOnPostgres(SameAnswers):
    """One client; what several do at a time is in `test_clients`."""

    def opened(self, *, is_new: bool = False) -> Any:
        return PostgresIndex(postgres.empty() if is_new else postgres.server().address())


TestSameAnswers = SameAnswers.TestCase
TestSameAnswersInMemory = SameAnswersInMemory.TestCase
TestSameAnswersOnPostgres = SameAnswersOnPostgres.TestCase
FEWER = settings(max_examples=examples(30), stateful_step_count=40, deadline=None)
TestSameAnswers.settings = settings(FEWER, max_examples=examples(80))
TestSameAnswersInMemory.settings = TestSameAnswersOnPostgres.settings = FEWER


def of_one_template(number: int, rng: Random) -> Fingerprint:
    """Return a page that only its structure can lead to another one, one of a dozen texts."""
    structure = 0xABCDEF
    for bit in rng.sample(range(64), rng.randint(0, 3)):
        structure ^= 1 << bit
    sketch = Random(rng.randrange(12)).randbytes(BINS).replace(b"\0", b"\1")
    digest = number.to_bytes(16, "big")
    return Fingerprint(rng.getrandbits(64), structure, sketch, digest, digest, 300, 300, 297)


@pytest.mark.parametrize(
    ("newest", "words", "others"), [(1, 1000, 0), (5, 12, 2), (9, 3, 0), (64, 1000, 0)]
)
def test_a_template_gives_its_newest_pages(tmp_path: Path, newest: int, words: int, others: int) -> None:
    rng = Random(newest)
    config, most = DedupConfig(), bounds(MAX_CANDIDATES=words, MAX_STRUCTURE_CANDIDATES=newest)
    with most, ScanIndex() as slow, SQLiteIndex(tmp_path / "pages.db") as fast:
        for _ in range(2):
            runs = [index.runs.begin("s") for index in (slow, fast)]
            for number in range(60):
                asked = [(of_one_template(number, rng), f"http://a/{rng.randrange(60)}", "page")]
                asked += [(of_one_template(1000 * number + n, rng), "", "item") for n in range(others)]
                for found, url, kind in asked:
                    one, two = (
                        find_or_add(index, found, url, run=run, config=config, kind=kind)
                        for index, run in zip((slow, fast), runs, strict=True)
                    )
                    assert (one, one.candidates) == (two, two.candidates)
        assert fast.problems() == []
