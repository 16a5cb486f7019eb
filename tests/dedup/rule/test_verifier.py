"""A new verifier is one module: put in by its name, it decides and is quoted everywhere."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dedup import DedupConfig, Detector, MemoryIndex, Page, Reason, SQLiteIndex, compare
from dedup.cli import main
from dedup.index import Index
from dedup.recipes.fingerprinter import fingerprint
from dedup.report.contents import Choices, contents_of
from dedup.report.explanation import explain
from dedup.report.html import embedded, write_report
from dedup.report.replay import replayed
from dedup.rule.decide import Past, decide
from dedup.rule.distance import DistanceVerifier
from dedup.rule.loss import LossVerifier
from dedup.rule.similarity import SimilarityVerifier
from dedup.rule.site import NoSite, SiteContext
from dedup.rule.verifier import MAKERS, verifier_of
from dedup.values.verdict import Candidates, Canonical, Standing
from tests.dedup.rule.counting import CountingVerifier
from tests.dedup.rule.pairs import BASE, near
from tests.pages import page, text

# Pages that share all their tags and some of their words: candidates that are unlike.
FIRST = page(text(1, 60), "http://a/1")
EQUALLY_LONG = page(" ".join([text(1, 20), text(2, 40)]), "http://a/2")
SHORTER = page(text(1, 57), "http://a/3")
COUNTED = "The pages have 60 and 60 tokens, as many are asked for."


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAKERS, "loss", CountingVerifier)


@pytest.fixture(params=["memory", "sqlite"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = MemoryIndex() if request.param == "memory" else SQLiteIndex(tmp_path / "pages.db")
    with made:
        yield made


def crawled(index: Index) -> list[Reason]:
    with Detector(index) as detector:
        return [detector.check(shown).reason for shown in (FIRST, EQUALLY_LONG, SHORTER)]


def test_the_verifiers_of_a_configuration() -> None:
    config = DedupConfig()
    assert verifier_of(config) == LossVerifier(config)
    plain = DedupConfig(verifier="similarity")
    assert verifier_of(plain) == SimilarityVerifier(plain)
    plain = DedupConfig(verifier="distance")
    assert verifier_of(plain) == DistanceVerifier(plain)


def test_without_it_the_same_pages_have_other_verdicts(index: Index) -> None:
    assert crawled(index) == [Reason.NEW, Reason.NEW, Reason.NEAR_DUPLICATE]


@pytest.mark.usefixtures("counting")
def test_an_index_decides_by_it(index: Index) -> None:
    with Detector(index) as detector:
        verdicts = [detector.check(shown) for shown in (FIRST, EQUALLY_LONG, SHORTER)]
    reasons = [verdict.reason for verdict in verdicts]
    assert reasons == [Reason.NEW, Reason.NEAR_DUPLICATE, Reason.NEW]
    assert [verdict.sentence for verdict in verdicts] == ["", COUNTED, ""]
    assert (verdicts[1].canonical, verdicts[1].similarity) == (
        1,
        compare(FIRST, EQUALLY_LONG).similarity,
    )


@pytest.mark.usefixtures("counting")
def test_it_is_quoted_by_who_compares_and_explains() -> None:
    assert compare(FIRST, EQUALLY_LONG).sentence == COUNTED
    assert not compare(FIRST, SHORTER).is_duplicate
    explanation = explain(fingerprint(FIRST), fingerprint(EQUALLY_LONG), DedupConfig())
    assert explanation.reasons[2:] == (COUNTED, "So it is a copy.")
    assert explanation.bounds == {}


def test_another_verdict_is_replayed(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    crawled(index)
    monkeypatch.setitem(MAKERS, "loss", CountingVerifier)
    with replayed(index, DedupConfig()) as replay:
        assert [row.verdict.kept for row in replay.index.rows()] == [True, False, True]
        assert (replay.changes.dropped, replay.changes.kept) == (1, 1)


def test_reports_and_commands_quote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAKERS, "loss", CountingVerifier)
    path, config, file = tmp_path / "pages.db", DedupConfig(), io.StringIO()
    with SQLiteIndex(path) as opened:
        crawled(opened)
        choices = Choices(index=opened, config=config, name="pages")
        data = embedded(contents_of(choices))
        write_report(choices, file)
    assert COUNTED in data["sentences"]  # type: ignore[operator]
    assert "They are copies if they have equally many tokens." in file.getvalue()
    told = CliRunner().invoke(main, ["explain", "http://a/2", str(path), "--json"])
    assert json.loads(told.output)[0]["now"]["sentence"] == COUNTED
    compared = CliRunner().invoke(main, ["explain", "http://a/1", "http://a/3", str(path)])
    assert (compared.exit_code, "60 and 57 tokens" in compared.output) == (3, True)


class Noted(NoSite):
    """A site that notes the hosts beside which it is asked about."""

    is_known = True

    def __init__(self) -> None:
        self.hosts: list[str] = []

    def beside(self, host: str) -> Noted:
        self.hosts.append(host)
        return self


def test_the_site_that_the_index_knows_reaches_the_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SiteContext] = []

    class Asking(SimilarityVerifier):
        def check(self, kept: Any, page: Any, site: SiteContext) -> Any:
            seen.append(site)
            return super().check(kept, page, site)

    monkeypatch.setitem(MAKERS, "loss", Asking)
    kept = Canonical(1, "http://a/", 1, is_pending=False, fingerprint=BASE, host="a")
    noted = Noted()
    past = Past(
        candidates=lambda: [Candidates([kept], 1)], standing=lambda _: Standing(1, 1), site=lambda: noted
    )
    verdict = decide(near(BASE), past, DedupConfig())
    assert (verdict.reason, verdict.candidates, verdict.canonical) == (Reason.NEAR_DUPLICATE, 1, 1)
    compare(Page.from_text("a b"), Page.from_text("c d"))
    assert [type(site) for site in seen] == [Noted, NoSite]
    assert set(noted.hosts) == {"a"}
