"""What an index knows of a site: what stands on the pages of it that were kept."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup import DedupConfig, Detector, MemoryIndex, Page, SQLiteIndex, fingerprint
from dedup.index import Index, Row, known
from dedup.index.store import DraftStore, Store
from dedup.model.fingerprint import Fingerprint
from dedup.model.verdict import Outcome, Reason
from dedup.prints.fingerprinter import sampled, title_in
from dedup.rule import match
from dedup.rule.match import SiteContext
from tests.support.pages import checked, find_or_add, page, sighting, text

KEEP, DROP = DedupConfig(), DedupConfig(unchanged="drop")
FRAME = text(0, 200)
PRINTS = [fingerprint(page(f"{FRAME if n % 2 else ''} {text(n, 80)} {n} {n // 2}")) for n in range(1, 9)]
HOSTS = ("a", "b")


@pytest.fixture
def index() -> Iterator[Index]:
    with MemoryIndex() as made:
        yield made


# The law: all is counted from the rows
def told(index: Index, config: DedupConfig, host: str, run: Any) -> list[list[list[Any]]]:
    """Return what the index knows about the sample of each of `PRINTS`, on *host* beside the others."""
    is_dry = run.action == "report"
    seen = sighting(PRINTS[0], f"http://{host}/new", run=run, config=config, is_dry=is_dry)
    with index.store.transaction(writing=False):
        site = index.ledger.known(seen, config).site()
        return [answers(other, one) for other in (site, site.beside("b")) for one in PRINTS]


def answers(site: SiteContext, one: Fingerprint) -> list[list[Any]]:
    asked = match.told_by(one.sample, one.traits)
    copied = match.told_by_copy(one.traits, one.token_digest)
    found = site.common(asked), site.unknown(asked), site.on(asked), site.seen(copied)
    return [each.tolist() for each in found]


def counted(index: Index, config: DedupConfig, host: str, run: Any) -> list[list[list[Any]]]:
    """Return the same from all rows, one by one."""
    rows = list(index.rows())
    oldest = max(0, len(rows) // known.SPAN - 1) * known.SPAN
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    titles: Counter[int] = Counter()
    pages: Counter[str] = Counter()
    for row in rows:
        if row.id >= oldest and counts_here(row, config, run):
            page = row.sighting.fingerprint
            hashes = sampled(match.told_by(page.sample, page.traits)).tolist()
            if row.verdict.kept:
                counts[row.sighting.host].update(hashes)
                pages[row.sighting.host] += 1
            if row.sighting.host == host:
                told = title_in(page.traits)
                if not row.verdict.kept:
                    of = index.row(row.verdict.canonical or 0).sighting.fingerprint
                    told = match.told_by_copy(page.traits, of.token_digest)
                titles.update(sampled(told).tolist())
    found: list[list[list[Any]]] = []
    for hosts in ((host,), (host, "b")):
        bounds = {one: max(match.COMMON_PAGES, match.COMMON_SHARE * pages[one]) for one in hosts}
        for one in PRINTS:
            hashes = sampled(match.told_by(one.sample, one.traits)).tolist()
            common = [any(counts[name][h] >= bounds[name] for name in hosts) for h in hashes]
            on = [counts[host][h] for h in hashes]
            copied = match.told_by_copy(one.traits, one.token_digest)
            seen = [titles[h] for h in sampled(copied).tolist()]
            found.append([common, [count == 0 for count in on], on, seen])
    return found


def counts_here(row: Row, config: DedupConfig, run: Any) -> bool:
    seen, verdict = row.sighting, row.verdict
    is_copy = verdict.reason is Reason.NEAR_DUPLICATE and (verdict.lost or 0) > 0
    tells = (verdict.kept or is_copy) and seen.fingerprint.sample
    if not tells or row.outcome is not Outcome.CONFIRMED:
        return False
    if seen.is_dry and seen.run != run.id:
        return False
    return verdict.reason is Reason.NEW or is_copy if config.unchanged == "drop" else seen.run == run.id


def history_of(seed: int) -> list[tuple[Any, ...]]:
    """Return what happens: mostly pages are seen, settled and asked about."""
    random = Random(seed)

    def step() -> tuple[Any, ...]:
        match random.choices(NAMES, (10, 3, 3, 1, 1, 1, 1))[0]:
            case "see":
                page, url, host = map(random.randrange, (8, 6, 2))
                return "see", page, url, random.random() < 0.6, host
            case "ask":
                return "ask", random.choice((KEEP, DROP)), random.choice(HOSTS)
            case "next run":
                return "next run", random.random() < 0.3
            case name:
                return name, random.randrange(8)

    return [step() for _ in range(random.randrange(10, 60))]


NAMES = ("see", "ask", "confirm", "release", "forget", "next run", "undo")


class Undone(Exception):
    pass


class History:
    """What happens to an index, step by step; `ask` compares."""

    def __init__(self, index: Index) -> None:
        self.index = index
        index.prepare()
        self.run = index.runs.begin("s")

    def see(self, print_: int, url: int, confirmed: bool, host: int) -> None:
        self._seen(print_, f"http://{HOSTS[host]}/{url}", confirmed=confirmed)

    def _seen(self, print_: int, url: str, *, confirmed: bool) -> None:
        find_or_add(
            self.index, PRINTS[print_], url, run=self.run, config=KEEP, confirmed=confirmed,
            is_dry=self.run.action == "report",
        )  # fmt: skip

    def settle(self, name: str, number: int) -> None:
        pending = [row.id for row in self.index.rows() if row.outcome is Outcome.PENDING]
        if pending:
            getattr(self.index.ledger, name)(pending[number % len(pending)])

    def forget(self, url: int) -> None:
        self.index.ledger.forget(url=f"http://a/{url}")

    def next_run(self, is_dry: bool) -> None:
        self.index.runs.end(self.run, "finished")
        self.run = self.index.runs.begin("s", action="report" if is_dry else "drop")

    def undo(self, print_: int) -> None:
        """Judge a page, and ask what is known, in a transaction that is undone."""
        with pytest.raises(Undone), self.index.batch():
            self._seen(print_, "http://a/undone", confirmed=True)
            told(self.index, KEEP, "a", self.run)
            raise Undone

    def take(self, step: tuple[Any, ...]) -> None:
        name, *about = step
        if name == "ask":
            asked: Any = self.index, *about, self.run
            is_known = told(*asked) == counted(*asked)
            assert is_known  # where all is shown, a diff of the two would take minutes
        elif name in ("confirm", "release"):
            self.settle(name, *about)
        else:
            getattr(self, name.replace(" ", "_"))(*about)


def law(make: Callable[[], Index], history: list[tuple[Any, ...]]) -> None:
    """After any history an index knows what its rows tell, and so does one that was opened just now."""
    with make() as index:
        happening = History(index)
        for step in history:
            happening.take(step)
        for config in (KEEP, DROP):
            happening.take(("ask", config, "a"))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "SPAN", 5)
    monkeypatch.setattr(match, "COMMON_PAGES", 2)


def check_law(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        law(MemoryIndex, history_of(seed))
        law(partial(SQLiteIndex, tmp_path / f"{seed}.db"), history_of(seed))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "seeds",
    [range(12), pytest.param(range(12, 120), marks=[pytest.mark.slow, pytest.mark.nightly])],
    ids=str,
)
def test_all_that_is_known_is_counted_from_the_rows(tmp_path: Path, seeds: range) -> None:
    check_law(tmp_path, seeds)


_kept_texts = Store.kept_texts


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "what was pending is never read": lambda plant: plant.setattr(
        Store, "kept_texts", lambda store, after, _: _kept_texts(store, after, ())
    ),
    "what was forgotten is known for ever": lambda plant: plant.setattr(
        known.Facts, "note_forgetting", lambda _: None
    ),
    "all spans stay": lambda plant: plant.setattr(known, "_oldest", lambda _: 0),
    "dry runs count": lambda plant: plant.setattr(known.Site, "_counts", lambda *_: True),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("short")
def test_the_law_finds_a_fault(fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        check_law(tmp_path, range(69, 120))  # the first one shows what few do


@pytest.mark.usefixtures("short")
def test_who_opens_an_index_knows_what_the_crawl_knew(tmp_path: Path) -> None:
    random, path = Random(4), tmp_path / "pages.db"
    with SQLiteIndex(path) as index:
        happening = History(index)
        for number in range(60):
            happening.see(random.randrange(8), number, random.random() < 0.8, random.randrange(2))
            before = told(index, KEEP, "a", happening.run)
            with SQLiteIndex(path) as other:
                assert told(other, KEEP, "a", happening.run) == before


@pytest.mark.usefixtures("short")
def test_a_draft_goes_on_with_what_its_replica_knew(tmp_path: Path) -> None:
    random, path = Random(4), tmp_path / "pages.db"
    with SQLiteIndex(path) as index:
        happening = History(index)
        steps = [(random.randrange(8), n, random.random() < 0.8, random.randrange(2)) for n in range(30)]
        for step in steps[:13]:
            happening.see(*step)
        with Index(DraftStore(path), read_only=True) as draft:
            beside = History.__new__(History)
            beside.index, beside.run = draft, happening.run
            for step in steps[13:]:
                assert told(draft, KEEP, "a", beside.run) == told(index, KEEP, "a", happening.run)
                happening.see(*step)
                beside.see(*step)
            assert draft.store.statistics().rows == index.store.statistics().rows


def seen(index: Index, contents: list[str], config: DedupConfig = KEEP, host: str = "a") -> list[bool]:
    """Return of each of *contents*, at URLs of their own, whether it was kept."""
    pages = {f"http://{host}/{number}": content for number, content in enumerate(contents)}
    return [verdict.kept for verdict in checked(index, pages, config, "s")]


def test_the_text_of_a_cluster_is_no_template(index: Index) -> None:
    random, article = Random(5), text(5000, 110)
    copies = []
    for _ in range(400):
        # Of a page that was kept: each says nothing that stands nowhere else.
        fresh = text(random.randrange(1, 301), 110).split()[: round(110 * random.uniform(0.05, 0.25))]
        place, words = random.randrange(110), article.split()
        copies.append("<p>".join(map(" ".join, (words[:place], fresh, words[place:]))))
    different = [text(number, 110) for number in range(1, 301)]
    kept = seen(index, [*different, article, *copies])
    assert all(kept[:301])
    assert sum(kept[301:]) <= 5


def test_a_list_of_what_was_kept_is_dropped_and_one_of_what_was_not_is_kept(index: Index) -> None:
    posts = [text(number, 45) for number in range(1, 25)]
    lists = ["<p>".join([FRAME, *posts[start : start + 2]]) for start in range(0, 24, 2)]
    kept = seen(index, [*posts, f"{FRAME}<p><p>", *lists, f"{FRAME} {text(77, 80)}"])
    assert all(kept[:25])
    # Where one post ends and the next one begins, words stand together that do so nowhere else.
    assert kept[25:-1].count(False) >= 8
    assert kept[-1]


def test_another_crawl_knows_nothing_of_what_it_has_not_delivered(index: Index) -> None:
    contents = [f"{text(3, 90)}<br>", f"{FRAME}<br>", f"{FRAME}<br>{text(3, 90)}"]
    assert seen(index, contents) == [True, True, False]
    # The page with the words is gone: the list is the only page of this crawl that has them.
    with Detector(index, KEEP, spider="s") as detector:
        assert detector.check(page(contents[1], "http://a/1")).reason is Reason.UNCHANGED
        assert detector.check(page(contents[2], "http://a/9")).kept
    # Where nothing is delivered twice, they were.
    with Detector(index, DROP, spider="s") as detector:
        assert not detector.check(page(f"{text(3, 90)}<br>{FRAME}", "http://a/10")).kept


def test_what_has_no_url_is_a_site_of_its_own(index: Index) -> None:
    with Detector(index) as detector:
        for number in range(1, 20):
            assert detector.check(Page.from_text(f"{FRAME} {text(number, 30)}")).kept
        here, there = (Page.from_text(FRAME, url=url) for url in ("", "http://a/"))
        for one, pages in ((here, 19), (there, 0)):
            assert index.ledger.known(detector.sighting(one), KEEP).site().pages == pages
