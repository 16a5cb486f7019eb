import random
from contextlib import suppress
from dataclasses import replace

import pytest

from dedup import DedupConfig, Detector, Fingerprint, Page, Reason, Verdict
from dedup.index import Index
from dedup.rule.loss import MIN_EQUAL_TOKENS
from tests.index.conftest import ON_BOTH
from tests.support.constants import bounds
from tests.support.pages import edited, page, text
from tests.support.sightings import find_or_add

pytestmark = ON_BOTH


def test_a_page_that_cannot_be_written_costs_no_other_page_its_verdict(index: Index) -> None:
    with Detector(index) as detector:
        seen = detector.sighting(page(text(1), "http://a/"))
        with pytest.raises(UnicodeEncodeError):
            detector.submit(replace(seen, url="http://a/\ud800", url_key="http://a/\ud800"))
        assert detector.check(page(text(1), "http://b/")).reason is Reason.NEW


def test_judging_records_nothing(index: Index) -> None:
    with Detector(index) as detector:
        assert detector.judge(page(text(1))).reason is Reason.NEW
        assert detector.judge(page(text(1))).reason is Reason.NEW
        assert list(index.rows()) == []
        assert index.runs.all() == []


def test_an_empty_body_is_kept_and_not_judged(index: Index) -> None:
    with Detector(index) as detector:
        verdicts = [detector.check(Page.from_html(b" ", url=f"http://a/{n}")) for n in range(2)]
    assert [(v.reason, v.kept) for v in verdicts] == [(Reason.NOT_JUDGED, True)] * 2


def test_pages_without_tokens_repeat_each_other_by_bytes_only(index: Index) -> None:
    bodies = [b"<img src=a>", b"<img src=b>", b"<img src=a>"]
    with Detector(index) as detector:
        verdicts = [detector.check(Page.from_html(b, url=f"http://a/{n}")) for n, b in enumerate(bodies)]
    assert [v.reason for v in verdicts] == [Reason.NEW, Reason.NEW, Reason.EXACT_DUPLICATE]
    assert verdicts[2].content_distance is None


@pytest.mark.parametrize("tokens", range(1, 7))
def test_very_short_pages_need_equal_bytes_or_enough_equal_tokens(index: Index, tokens: int) -> None:
    words = " ".join(f"w{n}" for n in range(tokens))
    with Detector(index) as detector:
        detector.check(Page.from_html(f"<p>{words}</p>", url="http://a/"))
        same_words = detector.check(Page.from_html(f"<div>{words}</div>", url="http://b/"))
        same_bytes = detector.check(Page.from_html(f"<p>{words}</p>", url="http://c/"))
    expected = Reason.NEAR_DUPLICATE if tokens >= MIN_EQUAL_TOKENS else Reason.NEW
    assert same_words.reason is expected
    assert same_bytes.reason is Reason.EXACT_DUPLICATE


def test_pages_and_items_do_not_see_each_other(index: Index) -> None:
    with Detector(index) as detector:
        kinds = ("page", "item", "page", "item")
        reasons = [detector.check(page(text(1), "http://a/"), kind=kind).reason for kind in kinds]
    assert reasons == [Reason.NEW, Reason.NEW, Reason.EXACT_DUPLICATE, Reason.EXACT_DUPLICATE]


@pytest.mark.parametrize(
    ("scope", "url", "spider", "found"),
    [
        ("spider", "http://other.example/", "one", True),
        ("spider", "http://www.example.co.uk/", "two", False),
        ("host", "http://www.example.co.uk/x", "two", True),
        ("host", "http://m.example.co.uk/", "one", False),
        ("domain", "http://m.example.co.uk/", "two", True),
        ("domain", "http://other.co.uk/", "one", False),
        ("global", "http://other.example/", "two", True),
    ],
)
def test_pages_are_compared_within_their_scope(
    index: Index, scope: str, url: str, spider: str, found: bool
) -> None:
    config = DedupConfig(scope=scope)
    with Detector(index, config, "one") as detector:
        detector.check(page(text(1), "http://www.example.co.uk/"))
    with Detector(index, config, spider) as detector:
        assert detector.check(page(text(1), url)).kept is not found


def test_structure_finds_what_content_alone_does_not(index: Index) -> None:
    config = DedupConfig(max_distance=0, max_lost_words=60)
    with Detector(index, config) as detector:
        detector.check(page(text(1), "http://a/", template=2))
        same_template = detector.check(page(edited(1, 9), "http://b/", template=2))
    assert not same_template.kept
    assert same_template.content_distance


def crowd(index: Index, sketches: int) -> list[Verdict]:
    """Add pages whose content simhashes are one or two bits apart and whose texts are not alike."""
    run = index.runs.begin("s")
    verdicts = []
    for number in range(sketches):
        sketch = random.Random(number).randbytes(256).replace(b"\0", b"\1")
        digest = number.to_bytes(16, "big")
        found = Fingerprint(0xABCDEF ^ 1 << number % 60, 77, sketch, digest, digest, 300, 300, 297)
        verdicts.append(find_or_add(index, found, f"http://a/{number}", run=run, config=DedupConfig()))
    return verdicts


def test_a_crowd_of_unlike_pages_is_kept_and_looked_at_up_to_the_cap(index: Index) -> None:
    with bounds(MAX_CANDIDATES=40):
        verdicts = crowd(index, 150)
    assert {verdict.reason for verdict in verdicts} == {Reason.NEW}
    assert verdicts[30].candidates == 30
    assert 40 <= verdicts[-1].candidates <= 104


def test_the_cap_leaves_the_nearest(index: Index) -> None:
    crowd(index, 50)
    run = index.runs.begin("s")
    sketch = random.Random(7).randbytes(256).replace(b"\0", b"\1")
    copy = Fingerprint(0xABCDEF ^ 1 << 7, 1, sketch, b"x" * 16, b"y" * 16, 300, 300, 297)
    with bounds(MAX_CANDIDATES=1):
        verdict = find_or_add(index, copy, "http://b/", run=run, config=DedupConfig())
    assert (verdict.reason, verdict.canonical_url) == (Reason.NEAR_DUPLICATE, "http://a/7")


def test_a_batch_is_recorded_as_a_whole_or_not_at_all(index: Index) -> None:
    with Detector(index, spider="first") as detector:
        assert detector.run.id == 1
        with suppress(KeyError), index.batch():
            detector.check(page(text(1), "http://a/1"))
            detector.check(page(text(1), "http://a/2"))
            raise KeyError
    with Detector(index, spider="second") as detector:
        detector.check(page(text(2), "http://a/3"))
    with Detector(index, spider="first") as detector:
        assert detector.check(page(text(1), "http://a/4")).kept
    assert [row.sighting.scope for row in index.rows()] == ["second", "first"]
