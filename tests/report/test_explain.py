"""What `dedup explain` says of a page is what the crawl decided; what the rule says today stands beside it."""

import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from dedup import DedupConfig, Detector, Fingerprint, MemoryIndex, Page, SQLiteIndex
from dedup.index.notes import SiteNoise, put_noise
from dedup.model.marks import Exceptions, Said
from dedup.reading.noise import Evidence, Gap
from dedup.report.changes import Changes, in_a_line
from dedup.report.clusters import Report
from dedup.report.explanation import Again
from dedup.report.export import record_of
from dedup.rule import match
from tests.report.reports import html, judged, told
from tests.rule.pairs import bases, configs, others
from tests.rule.test_site import words
from tests.support.budget import examples
from tests.support.commands import run
from tests.support.pages import edited, find_or_add, page, text

ONE, TWO = "http://a.example/1", "http://a.example/2"
APART = Said(ONE, TWO, "different")


@settings(max_examples=examples(60), deadline=None)
@given(bases(), others(), configs())
def test_explained_is_what_is_decided(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> None:
    matched, index = match.match(kept, page, config), MemoryIndex()
    index.prepare()
    run = index.runs.begin("s")
    find_or_add(index, kept, "http://a/1", run=run, config=config)
    verdict = find_or_add(index, page, "http://a/2", run=run, config=config)
    if matched.finding == match.OWN and verdict.kept:
        return  # a crawl asks for more pages of the site than this one
    assert (verdict.reason, verdict.kept) == (matched.reason, not matched.is_duplicate)
    rows = [*Report(index).rows()]
    assert bool(rows) is matched.is_duplicate
    for name in ("content_distance", "structure_distance", "similarity", "lost"):
        assert all(getattr(row.verdict, name) == getattr(matched, name) for row in rows)


def test_what_the_crawl_decided_is_on_record_and_a_new_judgement_is_called_one() -> None:
    index, frame = MemoryIndex(), text(1, 60)
    article = words(Random(500), 480).split()
    edit = [*article[:300], *words(Random(501), 25).split(), *article[325:]]
    with Detector(index) as detector:
        for number in range(30):
            detector.check(page(f"{frame} {text(number + 2, 300)}", f"http://a/{number}"))
        kept = detector.check(page(f"{frame} {' '.join(article)}", "http://a/article"))
        copy = detector.check(page(f"{frame} {' '.join(edit)}", "http://a/edit"))
    row, canonical = index.row(copy.row or 0), index.row(kept.row or 0)
    assert (copy.kept, copy.finding, row.verdict.finding) == (False, match.OWN, match.OWN)
    prints = canonical.sighting.fingerprint, row.sighting.fingerprint
    again = Again(index, DedupConfig())
    assert again.told_rule(row, canonical).endswith("allowed where there is no series.")
    index.store.reprint(row.id, replace(prints[1], content_simhash=0xFFFF, structure_simhash=0xFFFF))
    told = again.told_rule(index.row(row.id), canonical)
    assert told == f"About {copy.lost} of {copy.words} words would be lost.", "as it was noted"


BROKEN = r"asked for|is much of|no candidate|in a series;|tells? it from the page kept|on no page kept"
MET = r"[0-9] are allowed\.|The texts are the same|words? would be lost; all|All pages of its layout"


@pytest.mark.parametrize("seed", range(6))
def test_what_is_said_agrees_with_what_was_decided(path: Path, seed: int) -> None:
    made, tags = (
        Random(seed),
        ("<p>{}</p><p>Views: {}</p>", "<table><tr><td>{}<td>Views: {}</table>Print"),
    )

    def shown(number: int) -> Page:
        edits = made.choice((0, 1, 3, 9, 30, 60)) * (number % 3)
        said = made.choice(tags).format(
            edited(number // 3, edits, made.choice((60, 200))), made.random()
        )
        html = f"<title>{made.choice(('Coat', number // 3))}</title><p>{text(90, 40)}</p>{said}"
        url = f"http://a.example/{number}{made.choice(('', '?print=1'))}"
        return Page.from_html(html, url=url, with_places=True)

    for _ in range(2):
        config: dict[str, Any] = {"unchanged": ("keep", "drop")[seed % 2], "store_pages": seed % 3 > 0}
        judged(path, *map(shown, range(14)), **config)
        if made.random() < 0.7:
            put_counter(path)
        with SQLiteIndex(path) as index:
            rows = {row.sighting.url: row for row in index.rows() if row.verdict.reason != "unchanged"}
        for url, row in rows.items():
            told, is_kept = run("explain", url, path).output, row.verdict.kept
            (verdict,), rule = re.findall("  verdict  (.*)", told), re.findall("  rule     (.*)", told)
            assert verdict.startswith(f"{row.verdict.reason}. It was {'kept' if is_kept else 'dropped'}")
            assert not re.search(MET if is_kept else BROKEN, (rule or [verdict])[0]), told
            lost = re.findall(
                r"^(?:about )?(?:(\d+) of \d+ words|nothing)\b.* +http", told, re.MULTILINE
            )
            assert [int(one or 0) for one in lost] == sorted(int(one or 0) for one in lost)
            kept_url = row.verdict.canonical_url
            if kept_url and rows[kept_url].id == row.verdict.canonical:
                both = run("explain", kept_url, url, path)
                assert (both.exit_code, "\nB is a copy of A" in both.output) == (0, True), both.output


def test_the_nearest_of_all_with_its_title_is_the_first(tmp_path: Path) -> None:
    path, coats = tmp_path / "pages.db", [*(text(n, 600) for n in range(2, 14)), edited(1, 240, 600)]
    pages = [replace(page(it, f"{ONE}{n}"), title="Coat") for n, it in enumerate([*coats, text(1, 600)])]
    said = rf" beside\n240 of 600 words +{ONE}12  .*\n    no copy: The pages share 0\.\d\d of their"
    assert re.search(said, kept(path, *pages))


def kept(path: Path, *pages: Page, said: str = "", **config: Any) -> str:
    """Return what is said of the last of *pages*, which is kept."""
    last = judged(path, *pages, **config)[-1]
    with SQLiteIndex(path) as index:
        stored = index.row(last.row or 0).verdict
        assert (last.kept, stored.nearest, stored.finding) == (True, last.nearest, last.finding)
    return explained(path, pages[-1].url)


def explained(path: Path, *urls: str) -> str:
    result = run("explain", *urls, path)
    assert result.exit_code == 0, result.output
    return result.output


def put_counter(path: Path) -> None:
    """Let it be known that something changes on a site at each load."""
    gap = Gap("html>body>p", ("Views", ":"), ("$", "$"))
    with SQLiteIndex(path) as index:
        put_noise(index.store, SiteNoise("", "a.example", 1, {gap: Evidence(moved=5)}))


def variant(number: int, sku: str) -> Page:
    said = f"<title>Coat</title><p>{text(1)}</p><b itemscope itemprop=sku>{sku}</b>"
    return Page.from_html(said, url=f"http://a.example/{number}")


def test_of_what_would_lose_too_much_the_words_are_said(tmp_path: Path) -> None:
    told = kept(tmp_path / "pages.db", page(text(1, 600), ONE), page(edited(1, 80, 600), TWO))
    sentence = r": about (\d+) of 600 words would be lost; at most 60 are allowed; about \1 stand on no"
    assert re.search(f"It was kept beside {ONE}{sentence}", told)
    assert f"  beside   {ONE}  (row 1, run 1)\n           {{-" in told
    assert "feed0079" in told
    assert re.search(rf"\n80 of 600 words +{ONE} .*\n    no copy, as is said above\n", told)


def test_words_new_to_the_site_are_said_also_where_they_stand_on_later_pages(tmp_path: Path) -> None:
    path, said = tmp_path / "pages.db", words(Random(1), 120)
    other = f"heron {said}"
    told = kept(path, page(said, ONE), page(other, TWO))
    assert judged(path, page(f"{other} {text(9, 600)}", "http://a.example/3"), store_pages=False)[0].kept
    for said in (told, explained(path, TWO)):
        assert re.search(
            rf"It was kept beside {ONE}: 1 pair of its neighbouring words .*: “heron .*”\.\n", said
        )
        assert re.search(rf"{ONE} .*\n    no copy, as is said above", said)
        assert "    a copy" not in said


def test_of_a_record_whose_words_are_known_it_is_said_what_the_next_page_lacks(tmp_path: Path) -> None:
    said = f"{text(1, 25)} on {{}} for {{}} in the harbour".format
    shown = "monday repairs,friday training,sunday painting,monday training".split(",")
    read = (page(said(*one.split()), f"http://a.example/{n}") for n, one in enumerate(shown))
    pages = [replace(one, title="Closed") for one in read]
    told = kept(tmp_path / "pages.db", *pages)
    assert re.search(
        "[0-9] pairs of its neighbouring words tell it from the page kept: “.* training”", told
    )
    assert "{+training+}" in told


def test_what_is_left_out_by_now_is_no_change_and_a_title_is_one(tmp_path: Path) -> None:
    noise, html = "only in what is left out by now", f"<title>{{}}</title><p>{text(1)}<p>Views: {{}}</p>"
    only, red = f"1 page changed {noise}: {ONE}", f"changed   {ONE} (+1 -0 words)"
    for title, said in (("Coat", only), ("Red coat", red)):
        for shown in (("Coat", 17), (title, 283)):
            made = Page.from_html(html.format(*shown), url=ONE, with_places=True)
            judged(tmp_path / title, made, unchanged="drop")
        put_counter(tmp_path / title)
        with SQLiteIndex(tmp_path / title) as index:
            changes = Changes(index, 2)
            told = [*changes.told()]
            assert in_a_line(index, 2).startswith(told[-1])  # as the log
        assert told[0] == said
        assert (f"1 changed (of them 1 {noise})" in told[-1]) is (title == "Coat")


def test_what_else_tells_two_pages_apart_is_said(tmp_path: Path) -> None:
    told = kept(tmp_path / "ids.db", variant(1, "A-17"), variant(2, "A-18"))
    assert f"It was kept beside {ONE}: they name different records by their ids." in told
    pages = page(text(1), ONE), page(edited(1, 2), TWO)
    told = kept(tmp_path / "marks.db", *pages, exceptions=Exceptions.of([APART]))
    assert f"It was kept beside {ONE}: the file of marks says that the two are different." in told


def test_of_a_page_kept_in_place_of_another_that_is_said(path: Path) -> None:
    near = page(edited(1, 80, 600), "http://a.example/3")
    for pages in ([page(text(1, 600), ONE)], [near, page(edited(1, 2, 600), TWO)]):
        with SQLiteIndex(path) as index, Detector(index) as detector:
            detector.visit("a.example")
            assert all(detector.check(one).kept for one in pages)
    told = explained(path, TWO)
    assert "new. It was kept: it takes the place of a page that it repeats" in told
    assert f"  kept     {ONE}" in told


def test_of_a_page_that_was_restored_that_is_said_and_its_run_still_counts_it(path: Path) -> None:
    pages = page(text(1), ONE), page(edited(1, 2), TWO)
    for day in range(3):
        with SQLiteIndex(path) as index, Detector(index) as detector:
            assert [detector.check(one).kept for one in pages] == [True, day > 0]
            came = [one["url"] for one in Changes(index, day + 1) if one["change"] == "added"]
            assert came == [[ONE], [TWO], []][day], "what was dropped, and is delivered now"
            counts = str(Report(index, run=1).counts)
            assert counts == "2 pages seen = 1 kept + 1 near copy. Of 1 copy, 1 loses 1 word."
        if not day:
            assert run("restore", TWO, path).exit_code == 0
    assert "kept: that it had been dropped was taken back, by `dedup restore` or" in explained(path, TWO)
    assert run("forget", TWO, path).exit_code == 0
    assert "to forget a page deletes its text)" in explained(path, TWO)


def test_of_a_copy_that_is_unchanged_the_words_of_its_stored_text_are_shown(path: Path) -> None:
    for day in range(2):
        config = DedupConfig(store_pages=not day, unchanged="drop")
        with SQLiteIndex(path) as index, Detector(index, config) as detector:
            found = [detector.check(page(*one)).reason for one in ((text(1), ONE), (edited(1, 2), TWO))]
    assert found == ["unchanged", "unchanged"]
    assert "{+" in explained(path, TWO)


def test_of_a_page_that_its_crawl_took_back_that_is_said_and_why_two_are_copies(path: Path) -> None:
    with SQLiteIndex(path) as index, Detector(index) as detector:
        detector.check(page(text(1), ONE))
        dropped = detector.check(page(edited(1, 2), TWO))
        index.ledger.restore([dropped.row or 0])
        assert detector.check(page(edited(1, 2), TWO)).kept
    told = explained(path, ONE, TWO)
    said = "that it had been dropped was taken back, by `dedup restore` or to be safe: no second request"
    assert (
        f"\nB  It was kept: {said} confirmed that what had been left out of it changes at each load."
        in told
    )
    assert "\nB is a copy of A: near_duplicate\n" in told
    assert " It was kept, as it was wanted back.\n" in told


def test_of_a_page_kept_before_it_was_known_what_changes_at_each_load_that_is_said(path: Path) -> None:
    said = f"<p>{text(1, 400)}</p><p>Views: {{}}</p>".format
    shown = (
        Page.from_html(said(text(n, 80)), url=url, with_places=True) for n, url in ((7, ONE), (8, TWO))
    )
    told = kept(path, *shown)
    put_counter(path)
    known = explained(path, TWO)
    why = "It was kept, as what is left out of it by now was not yet known to change at each load"
    assert f"verdict  new. It was kept beside {ONE}: about " in told
    assert re.search(
        rf"\nnothing +{ONE} .*\n    a copy: The texts are the same, with .* {why}\.\n", known
    )
    assert f"  left out body > p “Views: [{text(8, 80)[:20]}" in known


def test_of_a_page_that_none_is_like_the_nearest_is_named_and_how_far_off_it_is(tmp_path: Path) -> None:
    path, said = tmp_path / "pages.db", text(1, 90)
    told = kept(tmp_path / "others.db", page(text(2), ONE), page(text(1), TWO))
    assert "verdict  new. It was kept: of the pages kept by then the crawl found none like it.\n" in told
    assert "nearest" not in told
    assert told.endswith("\nno other page kept is like it\n"), "as a page of other words is not"
    other = " ".join(word if n % 9 else f"other{n}" for n, word in enumerate(said.split()))
    told = kept(path, page(said, ONE), page(other, TWO))
    assert "\nno other page kept is like it; the nearest, judged again" in told
    assert re.search(
        rf"\n10 of 90 words +{ONE}  \(row 1, .*\n    no copy: .* 0\.62 is asked for\.", told
    )


def test_of_a_page_kept_now_the_nearest_is_named_though_its_url_had_shown_a_copy(tmp_path: Path) -> None:
    path, said = tmp_path / "pages.db", text(1, 90)
    assert not judged(path, page(said, ONE), page(said, TWO))[-1].kept
    assert "the nearest, judged" not in explained(path, TWO)
    assert judged(path, page(edited(1, 40, 90), TWO), unchanged="drop")[-1].kept
    assert "the nearest, judged" in explained(path, TWO)
    assert not judged(path, page(edited(1, 40, 90), TWO), unchanged="drop")[-1].kept
    assert "the nearest, judged" in explained(path, TWO), "unchanged since then"


def test_of_an_update_it_is_said_what_came_and_went(tmp_path: Path) -> None:
    path, said = tmp_path / "pages.db", text(1, 90)
    for number in (17, 283):
        judged(path, page(text(2), ONE), page(f"{said} {number} views", TWO), unchanged="drop")
    told = explained(path, TWO)
    assert "updated. It was kept: when it was last met before, this URL had another text.\n" in told
    assert f"  before   {TWO}  (row 2, run 1)\n           {{-17-}}\n           {{+283+}}\n" in told


def test_one_number_is_told_of_a_page_wherever_it_is_told(tmp_path: Path) -> None:
    """Counted where both texts are stored, else about: in explain, terminal, browser and exports."""
    for stores, number in ((True, "12 of 300 words"), (False, r"about \d+ of 300 words")):
        path = tmp_path / f"{stores}.db"
        pages = page(text(1, 300), ONE), page(edited(1, 12, 300), TWO)
        assert not judged(path, *pages, store_pages=stores)[-1].kept
        with SQLiteIndex(path) as index:
            shown, written = "\n".join(told(index)), html(index)
            (record,) = (record_of(row, Report(index)) for row in Report(index).rows())
        told_here = [explained(path, TWO), explained(path, ONE, TWO), shown, written]
        found = {*re.findall(rf"loses? +({number})", "\n".join(told_here))}
        assert len(found) == 1, found
        assert str(record["lost"]) in found.pop()
        assert not re.search(r"The page lost", "\n".join(told_here))


def test_a_file_is_judged_without_what_a_setting_leaves_out(tmp_path: Path) -> None:
    path, file = tmp_path / "pages.db", tmp_path / "page.html"
    judged(path, Page.from_html(f"<p>{text(1)}</p>", url=ONE))
    file.write_text(f"<p>{text(1)}</p><div class=ad>{text(9, 200)}</div>", "utf-8")
    for what in ([file], [ONE, file]):
        command = ["explain", *map(str, what), str(path)]
        ignoring = [*command, "-s", "DEDUP_IGNORE=.ad"]
        outputs = [run(*given).output for given in (command, ignoring)]
        assert ["a copy" in output for output in outputs] == [False, True]
