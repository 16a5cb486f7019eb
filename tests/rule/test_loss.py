"""How much would be lost with a page: counted by its sketch, and what that decides."""

import ast
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import dedup.rule
from dedup import DedupConfig, Fingerprint, Page, compare, fingerprint
from dedup.model.fingerprint import NAMED
from dedup.prints.fingerprinter import MOST, Sampled, pairs_in, positions, sampled
from dedup.rule import match
from dedup.rule.match import (
    NO_SITE,
    Counted,
    Flags,
    SiteContext,
    allowed_words,
    check,
    lost_words,
    missing_words,
    sieve,
    told_by,
)
from tests.support.crawling import bounds
from tests.support.pages import text

pytestmark = pytest.mark.nightly  # what is slow here says once more, in larger crawls, what others say

CONFIG = DedupConfig()


class Known(SiteContext):
    """A site on which some texts are common, and others stand on so many (*having*) kept pages."""

    is_known = True

    def __init__(
        self, common: str = "", kept: str = "", pages: int = 100, title: str = "", having: int = 1
    ) -> None:
        self._pages, self._having = pages, having
        known = (printed(one, title) for one in (common, kept))
        self._common, self._kept = (np.sort(sampled(told_by(one.sample, one.traits))) for one in known)

    @property
    def pages(self) -> int:
        return self._pages

    def common(self, sample: bytes) -> Flags:
        return np.asarray(positions(sampled(sample), self._common) >= 0)

    def on(self, sample: bytes) -> Counted:
        hashes: Sampled = sampled(sample)
        there = (positions(hashes, self._kept) >= 0) | (positions(hashes, self._common) >= 0)
        return np.asarray(there, np.int64) * self._having


def printed(content: str, title: str | None = None) -> Fingerprint:
    """Return the fingerprint of *content* without pairs of words, see `test_site`; those of numbers stay."""
    html = Page.from_html(f"<title>{title}</title><p>{content}")
    page = fingerprint(Page.from_text(content) if title is None else html)
    pairs = pairs_in(page.traits)
    numbers = [one for one in sampled(pairs).tolist() if one % 2]
    head = page.traits[: len(page.traits) - len(pairs)]
    return replace(page, traits=head + np.array(numbers, "<u4").tobytes())


def exactly_lost(kept: str, page: str) -> int:
    """Return how many different runs of four words of *page* are not in *kept*."""
    runs = [{*zip(*(said.split()[n:] for n in range(4)), strict=False)} for said in (kept, page)]
    return len(runs[1] - runs[0])


@pytest.mark.parametrize("words", [200, 600, 2000])
@pytest.mark.parametrize("fresh", [0, 10, 40, 150])
def test_words_lost_are_estimated_well(words: int, fresh: int) -> None:
    errors = []
    for seed in range(30):
        shared = text(seed, words)
        kept, page = f"{shared} {text(900 + seed, 30)}", f"{shared} {text(700 + seed, fresh)}"
        one, other = printed(kept), printed(page)
        errors.append(lost_words(one, other, compare(one, other).similarity) - exactly_lost(kept, page))
    # Of words/500 the sketch has a standard deviation of some 9 words; of few lost words it has less.
    assert abs(float(np.mean(errors))) < 6 * words / 500 + 1
    assert float(np.std(errors)) < 14 * words / 500 + 3


def test_runs_of_kana_and_thai_are_counted_as_words() -> None:
    for content, characters in (("これはひらがなのぶんです" * 5, 2), ("ภาษาไทยเป็นภาษา" * 5, 3)):
        found = printed(content)
        assert found.words == pytest.approx(found.tokens / characters, abs=1)
        assert lost_words(printed("x"), found, 0.0) == pytest.approx(found.shingles / characters, abs=1)
    assert printed("one two 三 四").words == printed("one two 三 四").tokens


@pytest.mark.parametrize(
    ("words", "share", "of_page", "allowed"),
    [
        (40, 0.1, 30, 10),
        (40, 0.1, 120, 40),
        (40, 0.1, 640, 64),
        (40, 0.1, 20_000, 100),
        (300, 0.1, 20_000, 750),
        (300, 0.1, 300, 100),
        (0, 1.0, 60, 0),
        (15, 0.0, 1000, 15),
        (40, 1.0, 60, 20),
    ],
)
def test_how_many_words_may_be_lost(words: int, share: float, of_page: int, allowed: float) -> None:
    page = Fingerprint(1, 1, bytes(256), b"b", b"t", of_page, of_page)
    with bounds(MAX_LOST_SHARE=share):
        assert allowed_words(page, DedupConfig(max_lost_words=words)) == pytest.approx(allowed)


def test_of_a_short_page_it_is_not_known_what_stands_elsewhere() -> None:
    assert missing_words(printed(""), printed(text(1, 16)), Known()) is None
    assert missing_words(printed(""), printed(text(1, 200)), NO_SITE) == pytest.approx(197)


FRAME, OWN, ELSE, ARTICLE = text(1, 300), text(2, 22), text(3, 60), text(6, 60)
RECORD, MUCH = f"{FRAME} {text(5, 12)}", "that is much of the about"
PART = " ".join(ELSE.split()[:15])
IN_FRAME, BESIDE = Known(common=FRAME), Known(common=FRAME, kept=ELSE)
NOWHERE = "; about {} stand on no page kept."


@pytest.mark.parametrize(
    ("kept", "page", "site", "finding", "said"),
    [
        (FRAME, f"{FRAME} {text(5, 9)}", NO_SITE, match.FEW, "of 309 words would be lost; 15 are"),
        # A few words are a record where all the others are common.
        (FRAME, RECORD, IN_FRAME, match.MUCH, MUCH),
        (f"{FRAME} {ARTICLE}", f"{RECORD} {ARTICLE}", IN_FRAME, match.FEW, "15 are allowed"),
        # More words are one under a common frame.
        (
            f"{FRAME} {text(4, 30)}",
            f"{FRAME} {OWN}",
            NO_SITE,
            match.OWN,
            "at most 40 are allowed where there is no series.",
        ),
        (f"{FRAME} {text(4, 30)}", f"{FRAME} {OWN}", IN_FRAME, match.MUCH, NOWHERE),
        # Many are lost nowhere if they stand on other pages.
        (FRAME, f"{FRAME} {ELSE}", NO_SITE, match.LOST, "nothing is known here of its site"),
        (FRAME, f"{FRAME} {ELSE}", IN_FRAME, match.LOST, NOWHERE),
        (FRAME, f"{FRAME} {ELSE}", BESIDE, match.ELSEWHERE, "; all stand on other pages kept."),
        (FRAME, f"{FRAME} {ELSE}", Known(FRAME, PART), match.LOST, NOWHERE),
        (FRAME, f"{FRAME} {PART} {text(5, 13)}", Known(FRAME, PART), match.MUCH, NOWHERE),
    ],
)
def test_what_becomes_of_words(kept: str, page: str, site: SiteContext, finding: str, said: str) -> None:
    with bounds(MIN_SIMILARITY=0.3):
        found = check(printed(kept), printed(page), CONFIG, site)
    is_copy = finding in {match.FEW, match.OWN, match.ELSEWHERE}
    assert (found.finding, found.is_duplicate) == (finding, is_copy)
    assert found.lost == pytest.approx(exactly_lost(kept, page), abs=6)
    assert (found.missing is not None) is (site.is_known and finding not in {match.FEW, match.OWN})
    told = said.format(min(found.missing or 0, found.lost or 0))
    assert told in found.sentence, "no more than are lost"


def test_what_is_not_sampled_is_not_known_to_stand_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "lost_hashes", lambda *_: (2, 2))
    with bounds(MIN_SIMILARITY=0.3):
        found = check(printed(FRAME), printed(f"{FRAME} {ELSE}"), CONFIG, BESIDE)
    assert found.finding == match.LOST


@pytest.mark.parametrize("title", ["Player", ""])
def test_the_title_of_all_pages_does_not_say_that_two_are_one(title: str) -> None:
    kept, page = printed(FRAME, title), printed(f"{FRAME} {ELSE} 5.49 7.99", title)
    for common, finding in (("A", match.ELSEWHERE), (title, match.NEW_PAIRS)):
        assert check(kept, page, CONFIG, Known(common=FRAME, kept=ELSE, title=common)).finding == finding


@pytest.mark.parametrize(
    ("titles", "having", "own", "elsewhere", "finding"),
    [
        ("AB", 2, 28, 0, match.SERIES),
        ("AB", 1, 28, 0, match.OWN),
        ("AA", 2, 28, 0, match.OWN),
        ("AB", 2, 28, 28, match.ELSEWHERE),
        ("AB", 2, 10, 0, match.FEW),  # hardly more than its name
    ],
)
def test_what_stands_on_other_pages_too_is_no_text_of_a_page_with_a_title_of_its_own(
    titles: str, having: int, own: int, elsewhere: int, finding: str
) -> None:
    members = text(6, 900)
    kept = printed(f"{FRAME} {members} {text(7, own)}", titles[0])
    page = printed(f"{FRAME} {members} {text(9, own)}", titles[1])
    known = Known(FRAME, f"{members} {text(9, elsewhere)}", having=having)
    found = check(kept, page, CONFIG, known)
    assert (found.finding, found.is_duplicate) == (finding, finding != match.SERIES)
    if finding == match.SERIES:
        assert "what they share is on 2 pages, as in a series; about" in found.sentence
    assert check(replace(kept, traits=b""), page, CONFIG, known).is_duplicate, "an older row"


@pytest.mark.parametrize(("title", "finding"), [("Bug 4", match.ELSEWHERE), ("Bug 7", match.LOST)])
def test_under_a_title_of_its_own_no_word_stands_nowhere_else(title: str, finding: str) -> None:
    # Lists quote a record, but not all of it.
    kept, page = printed(FRAME, "Bug 4"), printed(f"{FRAME} {ELSE} {text(5, 3)}", title)
    with bounds(MIN_SIMILARITY=0.3):
        found = check(kept, page, CONFIG, Known(common=FRAME, kept=ELSE, pages=0))
    assert found.missing
    assert found.finding == finding


def test_a_frame_that_is_read_for_want_of_text_is_common() -> None:
    def inside(words: str, title: str = "Site") -> Fingerprint:
        return printed(f"{words}</p><nav>{text(1, 200)}</nav>", title)

    login, other = inside("Please enter name and password"), inside("Please enter all your names")
    assert (login.inside, login.words) == (5, 205)
    assert check(login, other, CONFIG, Known()).finding == match.FEW, "a stub"
    found = check(inside(text(2, 17), "A"), inside(text(3, 17), "B"), CONFIG, Known())
    assert found.finding == match.MUCH
    assert found.lost == pytest.approx(20, abs=4)
    assert f"{MUCH} 17" in found.sentence


def test_a_check_tells_how_many_new_pairs_there_are() -> None:
    html = f"<title>Sea</title><p>{FRAME}"
    kept, page = (fingerprint(Page.from_html(one)) for one in (html, f"{html} brass lantern"))
    for site, passes in ((NO_SITE, True), (Known(pages=0), False), (Known(pages=1), False)):
        found = check(kept, page, CONFIG, site)
        assert found.is_duplicate is passes
        told = "2 pairs of its neighbouring words tell it from the page kept."
        assert (found.sentence == told) is not passes


@pytest.mark.parametrize("title", ["Sea", "{0} lantern"])  # of which the line is the heading
def test_where_something_was_left_out_it_may_have_told_a_record_from_others(title: str) -> None:
    html = f"<title>{title}</title><p>{FRAME} {text(4, 22)}<p>{{0}} lantern".format
    kept, page = (fingerprint(Page.from_html(html(name))) for name in ("Red", "Blue"))
    known = Known(common=FRAME)
    known._kept = np.sort(sampled(told_by(page.sample, page.traits)))  # on a page beside it
    assert check(kept, page, CONFIG, known).is_duplicate
    assert check(kept, replace(page, left_out=True), CONFIG, known).finding == match.NEW_PAIRS


def long_pages(words: int, own: int, how: str, seed: int) -> tuple[Fingerprint, Fingerprint]:
    rng = Random(seed)
    kept = [f"word{number}" for number in rng.choices(range(20_000), k=words)]
    theirs, page = [f"own{rng.randrange(20_000)}" for _ in range(own)], list(kept)
    if how == "added":
        page[words // 2 : words // 2] = theirs
    elif how == "in place":
        page[words // 2 : words // 2 + own] = theirs
    else:
        for place, word in zip(rng.sample(range(words), own), theirs, strict=True):
            page[place] = word
    return printed(" ".join(kept)), printed(" ".join(page))


@pytest.mark.parametrize("words", [1000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_no_page_of_any_length_loses_half_as_much_again_as_is_allowed(words: int) -> None:
    """And copies of long pages are found."""
    for seed in range(4 if words < 10_000 else 2):
        for how in ("added", "in place", "scattered"):
            for own in (150, 300):
                kept, page = long_pages(words, own, how, seed)
                found = compare(kept, page)
                assert (found.is_duplicate, found.lost is not None and found.lost > 40) == (False, True)
                assert len(page.sample) <= 4 * MOST
        for changed in (1, 4):
            assert compare(*long_pages(words, changed, "scattered", seed)).is_duplicate


def framed() -> list[Fingerprint]:
    """Return pages of one frame with more or less of their own, of another page, and other numbers."""
    pages = []
    for seed in range(36):
        rng = Random(seed)
        own = text(rng.randrange(100, 104), rng.choice([0, 1, 4, 9, 14, 25, 45]))
        of_others = " ".join(ELSE.split()[: rng.choice([0, 0, 40, 60])])
        numbers = " ".join(str(rng.randrange(90)) for _ in range(rng.choice([0, 0, 2])))
        page = printed(f"{FRAME} {of_others} {own} {numbers}", rng.choice("AAB"))
        pages.append(replace(page, inside=rng.choice([None, None, None, 30, NAMED])))
    return pages


SITES = {"none": NO_SITE, "a frame": IN_FRAME, "and other pages": BESIDE, "little": Known(pages=19)}


@pytest.mark.parametrize("known", SITES)
@pytest.mark.parametrize("most", [MOST, 60], ids=["whole samples", "samples cut off"])
def test_what_is_ruled_out_does_not_pass(known: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And most of the others are."""
    monkeypatch.setattr("dedup.prints.fingerprinter.MOST", most)
    pages, context = framed(), SITES[known]
    for config in (CONFIG, DedupConfig(max_lost_words=20)):
        found = []
        for page in pages:
            may_pass = sieve(page, config, context)
            found += [(check(it, page, config, context).is_duplicate, may_pass(it)) for it in pages]
        assert (True, False) not in found
        assert found.count((True, True)) > len(pages)
        assert found.count((False, False)) > found.count((False, True))


# All numbers that decide a verdict, each with what a user is told of it
FOLDER = Path(dedup.rule.__file__).parent
# What two pages must have in common to be compared, what may be lost, and what tells them apart.
SENTENCES = {
    "MIN_EQUAL_TOKENS": "Equal texts of four words or more are one page.",
    "FEW_WORDS": "Fifteen words are few: in the frame of a site, or where the others stand elsewhere.",
    "MAX_LOST_SHARE": "A longer page may lose a tenth of its words.",
    "MOST_TIMES": "A long page loses at most two and a half times max_lost_words.",
    "MOST_SHARE": "No page loses more than a third of what it has of its own.",
    "VERSIONS": "What differs for the third time is a series or a record, and no version.",
    "LEAST_SAMPLED": "A sample of fewer than three runs of words tells nothing.",
    "EDIT_SHARE": "A version of a page changes at most an eighth of it.",
    "OTHER_SHARE": "Under another title it changes at most a twentieth.",
    "EDIT_WORDS": "A page with fewer than a hundred words of its own has no versions.",
    "RECORD_WORDS": "With fewer than forty, under a title of many or of something else, it is a record.",
    "MIN_SIMILARITY": "Copies share 62 % of their runs of four words.",
    "STRUCTURE_MAX_DISTANCE": "A page of nearly the same tags is a candidate as well.",
    "COMMON_PAGES": "What stands on five pages of a site is its frame,",
    "COMMON_SHARE": "and on a large site what stands on one page in fifty.",
}
SETTINGS = ("max_distance", "max_lost_words")
OTHERS = {"MAX_CANDIDATES", "MAX_STRUCTURE_CANDIDATES"}  # they bound the work and decide nothing


def test_no_more_than_eighteen_numbers_decide_and_each_is_told() -> None:
    assert len(SENTENCES) + len(SETTINGS) <= 18
    assert all(isinstance(getattr(DedupConfig(), name), int | float) for name in SETTINGS)
    found = [it for it in assigned(FOLDER / "match.py") if isinstance(getattr(match, it), int | float)]
    assert sorted(found) == sorted([*SENTENCES, *OTHERS])


def assigned(path: Path) -> list[str]:
    body = ast.parse(path.read_text("utf-8")).body
    targets = [node.targets[0] for node in body if isinstance(node, ast.Assign)]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def test_no_number_stands_in_the_middle_of_it() -> None:
    """Beside 0 and 1, 2 of a formula, 3 of a shingle, and what is rounded or shown."""
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.walk(ast.parse(path.read_text("utf-8")))
        nodes = [node for it in tree if isinstance(it, ast.FunctionDef) for node in ast.walk(it)]
        values = [node.value for node in nodes if isinstance(node, ast.Constant)]
        numbers = {value for value in values if type(value) in {int, float}}
        assert numbers <= {0, 1, 2, 3, 100, 4096}, (path, numbers)
