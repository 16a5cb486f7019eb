"""How much would be lost with a page: counted by its sketch, and what that decides."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupConfig, Fingerprint, Page, compare, fingerprint
from dedup.model.fingerprint import NAMED
from dedup.model.verdict import Match
from dedup.prints.fingerprinter import MOST, Sampled, pairs_in, places, sampled
from dedup.rule import loss
from dedup.rule.loss import allowed_words, check, lost_words, missing_words, sieve
from dedup.rule.site import NO_SITE, Counted, Flags, SiteContext, told_by
from tests.bounds import bounds
from tests.pages import text

# What is slow here says once more, in larger crawls, what others say.
pytestmark = pytest.mark.nightly

CONFIG = DedupConfig()
WORDS = [f"word{number}" for number in range(20_000)]


class Known(SiteContext):
    """A site on which some texts are common, and others stand on a page that was kept."""

    is_known = True

    def __init__(self, common: str = "", kept: str = "", pages: int = 100, title: str = "") -> None:
        self._pages = pages
        self._common, self._kept = (known_by(of_title(title, one)) for one in (common, kept))

    @property
    def pages(self) -> int:
        return self._pages

    def common(self, sample: bytes) -> Flags:
        return np.asarray(places(sampled(sample), self._common) >= 0)

    def unknown(self, sample: bytes) -> Flags:
        hashes = sampled(sample)
        return np.asarray((places(hashes, self._kept) < 0) & (places(hashes, self._common) < 0))

    def on(self, sample: bytes) -> Counted:
        return np.asarray(~self.unknown(sample), np.int64)


def known_by(page: Fingerprint) -> Sampled:
    return np.sort(sampled(told_by(page.sample, page.traits)))


def printed(content: str) -> Fingerprint:
    """Return the fingerprint of *content* without pairs of words, see `test_pairs`; those of numbers stay."""
    return unpaired(fingerprint(Page.from_text(content)))


def unpaired(page: Fingerprint) -> Fingerprint:
    pairs = pairs_in(page.traits)
    numbers = [one for one in sampled(pairs).tolist() if one % 2]
    head = page.traits[: len(page.traits) - len(pairs)]
    return replace(page, traits=head + np.array(numbers, "<u4").tobytes())


def checked(kept: str, page: str, site: SiteContext = NO_SITE, **choices: float) -> Match:
    config = DedupConfig(**choices)  # type: ignore[arg-type]
    with bounds(MIN_SIMILARITY=0.3):
        return check(printed(kept), printed(page), config, site)


# What is counted


def exactly_lost(kept: str, page: str) -> int:
    """Return how many different runs of four words of *page* are not in *kept*."""
    runs = [
        {tuple(words[start : start + 4]) for start in range(len(words) - 3)}
        for words in (kept.split(), page.split())
    ]
    return len(runs[1] - runs[0])


@pytest.mark.parametrize("words", [200, 600, 2000])
@pytest.mark.parametrize("fresh", [0, 10, 40, 150])
def test_words_lost_are_estimated_well(words: int, fresh: int) -> None:
    errors = []
    for seed in range(30):
        shared = text(seed, words)
        kept, page = f"{shared} {text(900 + seed, 30)}", f"{shared} {text(700 + seed, fresh)}"
        one, other = printed(kept), printed(page)
        lost = lost_words(one, other, compare(one, other).similarity)
        errors.append(lost - exactly_lost(kept, page))
    # Of words/500 the sketch has a standard deviation of some 9 words; of few lost words it has less.
    assert abs(float(np.mean(errors))) < 6 * words / 500 + 1
    assert float(np.std(errors)) < 14 * words / 500 + 3


def test_runs_of_kana_and_thai_are_counted_as_words() -> None:
    japanese, thai = "これはひらがなのぶんです" * 5, "ภาษาไทยเป็นภาษา" * 5
    for content, characters in ((japanese, 2), (thai, 3)):
        found = printed(content)
        assert found.words == pytest.approx(found.tokens / characters, abs=1)
        assert lost_words(printed("x"), found, 0.0) == pytest.approx(found.shingles / characters, abs=1)
    assert printed("one two 三 四").words == printed("one two 三 四").tokens


@pytest.mark.parametrize(
    ("words", "share", "of_page", "allowed"),
    [
        (40, 0.1, 30, 10),
        (40, 0.1, 120, 40),
        (40, 0.1, 300, 40),
        (40, 0.1, 640, 64),
        (40, 0.1, 1000, 100),
        (40, 0.1, 20_000, 100),
        (300, 0.1, 20_000, 750),
        (300, 0.1, 300, 100),
        (0, 0.0, 500, 0),
        (0, 1.0, 60, 0),
        (15, 0.1, 1000, 37.5),
        (15, 0.0, 1000, 15),
        (40, 1.0, 60, 20),
    ],
)
def test_how_many_words_may_be_lost(words: int, share: float, of_page: int, allowed: float) -> None:
    page = Fingerprint(1, 1, bytes(256), b"b", b"t", of_page, of_page)
    with bounds(MAX_LOST_SHARE=share):
        assert allowed_words(page, DedupConfig(max_lost_words=words)) == pytest.approx(allowed)


# Samples


# What is decided


FRAME, OWN, ELSE = text(1, 300), text(2, 22), text(3, 60)


def test_a_few_words_are_no_page() -> None:
    found = checked(FRAME, f"{FRAME} {text(5, 9)}")
    assert (found.is_duplicate, found.finding, found.missing) == (True, loss.FEW, None)
    assert found.lost == pytest.approx(9, abs=6)
    assert f"About {found.lost} of 309 words would be lost; 15 are allowed." in found.sentence


def test_a_few_words_are_a_record_where_all_the_others_are_common() -> None:
    record = f"{FRAME} {text(5, 12)}"
    found = checked(FRAME, record, Known(common=FRAME))
    assert (found.is_duplicate, found.finding) == (False, loss.MUCH)
    assert "that is much of the about" in found.sentence
    article = text(6, 60)
    assert checked(f"{FRAME} {article}", f"{record} {article}", Known(common=FRAME)).is_duplicate


def test_what_is_lost_and_not_sampled_is_not_known_to_stand_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page, site = f"{FRAME} {ELSE}", Known(common=FRAME, kept=ELSE)
    assert checked(FRAME, page, site).finding == loss.ELSEWHERE
    monkeypatch.setattr(loss, "lost_hashes", lambda *_: (2, 2))
    assert checked(FRAME, page, site).finding == loss.LOST


@pytest.mark.parametrize("title", ["Player", ""])
def test_the_title_of_all_pages_does_not_say_that_two_are_one(title: str) -> None:
    kept, page = of_title(title, FRAME), of_title(title, f"{FRAME} {ELSE} 5.49 7.99")
    for common, finding in (("A", loss.ELSEWHERE), (title, loss.NEW_PAIRS)):
        site = Known(common=FRAME, kept=ELSE, title=common)
        assert check(kept, page, CONFIG, site).finding == finding


def of_title(title: str, content: str) -> Fingerprint:
    return unpaired(fingerprint(Page.from_html(f"<title>{title}</title><p>{content}")))


@pytest.mark.parametrize(
    ("titles", "pages", "own", "elsewhere", "finding"),
    [
        ("AB", 2, 28, 0, loss.SERIES),
        ("AB", 1, 28, 0, loss.OWN),
        ("AA", 2, 28, 0, loss.OWN),
        ("AB", 2, 28, 28, loss.ELSEWHERE),
        ("AB", 2, 10, 0, loss.FEW),  # hardly more than its name
    ],
)
def test_what_stands_on_other_pages_too_is_no_text_of_a_page_with_a_title_of_its_own(
    titles: str, pages: int, own: int, elsewhere: int, finding: str
) -> None:
    members = text(6, 900)
    kept = of_title(titles[0], f"{FRAME} {members} {text(7, own)}")
    page = of_title(titles[1], f"{FRAME} {members} {text(9, own)}")
    site = Series(pages, common=FRAME, kept=f"{members} {text(9, elsewhere)}")
    found = check(kept, page, CONFIG, site)
    assert (found.finding, found.is_duplicate) == (finding, finding != loss.SERIES)
    if finding == loss.SERIES:
        assert "what they share is on 2 pages, as in a series; about" in found.sentence
    assert check(replace(kept, traits=b""), page, CONFIG, site).is_duplicate, "an older row"


class Series(Known):
    """A site on which so many pages have the text that one of them has."""

    def __init__(self, having: int, *, common: str, kept: str) -> None:
        Known.__init__(self, common, kept)
        self._having = having

    def on(self, sample: bytes) -> Counted:
        return Known.on(self, sample) * self._having


def test_a_frame_that_is_read_for_want_of_text_is_common() -> None:
    def inside(words: str, title: str = "Site") -> Fingerprint:
        return of_title(title, f"{words}</p><nav>{text(1, 200)}</nav>")

    login, other = inside("Please enter name and password"), inside("Please enter all your names")
    assert (login.inside, login.words) == (5, 205)
    assert check(login, other, CONFIG, Known()).finding == loss.FEW, "a stub"
    one, two = inside(text(2, 17), "A"), inside(text(3, 17), "B")
    found = check(one, two, CONFIG, Known())
    assert found.finding == loss.MUCH
    assert found.lost == pytest.approx(20, abs=4)
    assert "that is much of the about 17" in found.sentence


def test_more_words_are_one_under_a_common_frame() -> None:
    kept, page = f"{FRAME} {text(4, 30)}", f"{FRAME} {OWN}"
    alone, known = checked(kept, page), checked(kept, page, Known(common=FRAME))
    assert (alone.is_duplicate, alone.finding) == (True, loss.OWN)
    assert alone.sentence.endswith("at most 40 are allowed.")
    assert (known.is_duplicate, known.finding) == (False, loss.MUCH)
    assert known.missing == pytest.approx(22, abs=20)
    assert "that is much of the about" in known.sentence
    assert f"; about {known.missing} stand on no page kept." in known.sentence


def test_many_words_are_lost_nowhere_if_they_stand_on_other_pages() -> None:
    kept, page = FRAME, f"{FRAME} {ELSE}"
    for site, finding in (
        (NO_SITE, loss.LOST),
        (Known(common=FRAME), loss.LOST),
        (Known(common=FRAME, kept=ELSE), loss.ELSEWHERE),
        (Known(common=FRAME, kept=" ".join(ELSE.split()[:20])), loss.LOST),
    ):
        found = checked(kept, page, site)
        assert (found.finding, found.is_duplicate) == (finding, finding == loss.ELSEWHERE)
    assert "nothing is known here of its site" in checked(kept, page).sentence
    sentence = checked(kept, page, Known(common=FRAME, kept=ELSE)).sentence
    assert sentence.endswith("; all stand on other pages kept.")


def test_of_a_short_page_it_is_not_known_what_stands_elsewhere() -> None:
    assert missing_words(printed(text(1, 16)), Known()) is None
    assert missing_words(printed(text(1, 200)), NO_SITE) == pytest.approx(197)


@given(st.integers(0, 3000), st.floats(0, 1), st.integers(1, 500))
def test_no_page_loses_more_than_is_allowed_or_stands_elsewhere(
    tokens: int, alike: float, words: int
) -> None:
    config = DedupConfig(max_lost_words=words)
    bins = round(256 * alike)
    kept = Fingerprint(1, 1, b"\1" * 256, b"b", b"t", 500, 500, 497)
    page = Fingerprint(
        1, 1, b"\1" * bins + b"\2" * (256 - bins), b"c", b"u", tokens, tokens, max(tokens - 3, 0)
    )
    with bounds(MIN_SIMILARITY=0):
        found = check(kept, page, config, NO_SITE)
    assert found.lost is not None
    if found.is_duplicate:
        assert found.lost <= max(1, round(min(max(words, min(tokens / 10, 100)), tokens / 3)))
        assert found.is_duplicate
    else:
        assert not found.is_duplicate


# Long pages


def long_pages(words: int, own: int, how: str, seed: int) -> tuple[Fingerprint, Fingerprint]:
    """Return a page of so many words, and one with so many *own* words that it has not."""
    rng = Random(seed)
    kept = rng.choices(WORDS, k=words)
    theirs = [f"own{rng.randrange(20_000)}" for _ in range(own)]
    page = list(kept)
    if how == "added":
        page[words // 2 : words // 2] = theirs
    elif how == "in place":
        page[words // 2 : words // 2 + own] = theirs
    else:
        for place, word in zip(rng.sample(range(words), own), theirs, strict=True):
            page[place] = word
    return printed(" ".join(kept)), printed(" ".join(page))


LONG = [1000, pytest.param(50_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("words", LONG)
@pytest.mark.parametrize("how", ["added", "in place", "scattered"])
@pytest.mark.parametrize("own", [150, 300])
def test_no_page_of_any_length_loses_half_as_much_again_as_is_allowed(
    words: int, how: str, own: int
) -> None:
    for seed in range(4 if words < 10_000 else 2):
        kept, page = long_pages(words, own, how, seed)
        found = compare(kept, page)
        assert (found.is_duplicate, found.lost or 0) > (False, 40)
        assert not found.is_duplicate
        assert len(page.sample) <= 4 * MOST


@pytest.mark.parametrize("words", LONG)
@pytest.mark.parametrize("changed", [1, 4])
def test_copies_of_long_pages_are_found(words: int, changed: int) -> None:
    assert compare(*long_pages(words, changed, "scattered", 1)).is_duplicate


# What is ruled out at once


def framed() -> list[Fingerprint]:
    """Return pages of one frame with more or less of their own, of another page, and other numbers."""
    pages = []
    for seed in range(36):
        rng = Random(seed)
        own = text(rng.randrange(100, 104), rng.choice([0, 1, 4, 9, 14, 25, 45]))
        of_others = " ".join(ELSE.split()[: rng.choice([0, 0, 40, 60])])
        numbers = " ".join(str(rng.randrange(90)) for _ in range(rng.choice([0, 0, 2])))
        page = of_title(rng.choice("AAB"), f"{FRAME} {of_others} {own} {numbers}")
        pages.append(replace(page, inside=rng.choice([None, None, None, 30, NAMED])))
    return pages


SITES = {
    "none": NO_SITE,
    "a frame": Known(common=FRAME),
    "a frame and other pages": Known(common=FRAME, kept=ELSE),
    "little": Known(pages=19),
}


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("most", [MOST, 60], ids=["whole samples", "samples cut off"])
def test_what_is_ruled_out_does_not_pass(site: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And most of the others are."""
    monkeypatch.setattr(loss, "MOST", most)
    pages, context = framed(), SITES[site]
    for config in (CONFIG, DedupConfig(max_lost_words=20)):
        found = []
        for page in pages:
            may_pass = sieve(page, config, context)
            found += [
                (check(kept, page, config, context).is_duplicate, may_pass(kept)) for kept in pages
            ]
        assert (True, False) not in found
        assert found.count((True, True)) > len(pages)
        assert found.count((False, False)) > found.count((False, True))
