"""``dedup merge``, ``dedup rules`` and ``dedup places``."""

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from dedup import DedupConfig, Detector, Page, SQLiteIndex
from dedup.index.notes import SiteNoise, UrlRules, all_noise, put_noise
from dedup.index.rows import Note
from dedup.reading.noise import Evidence, Gap, SiteLists
from dedup.urls.rule import Counterexample, Proposal, Rule, read_rules
from tests.support import commands
from tests.support.pages import checked, edited, text


def run(*arguments: object, code: int = 0) -> Result:
    done = commands.run(*arguments)
    assert done.exit_code == code, done.output
    assert "\x1b" not in done.output
    return done


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def crawl(path: str, *contents: str) -> None:
    with SQLiteIndex(path) as index:
        checked(index, {f"http://{path}/{n}": content for n, content in enumerate(contents)}, spider="s")


def urls(path: str) -> list[tuple[str, bool]]:
    with SQLiteIndex(path, create=False) as index:
        assert index.problems() == []
        return [(row.sighting.url, row.verdict.kept) for row in index.rows()]


def test_two_indexes_become_one_by_the_thresholds_of_settings() -> None:
    crawl("one.db", text(1), text(2))
    crawl("two.db", edited(1), text(3))
    before = Path("one.db").read_bytes()
    for other in ("one.db", "two.db"):
        assert (
            f"{other}: 2 pages were kept there, 0 are known already, 2 new ("
            in run("merge", other, "all.db").stdout
        )
    assert Path("one.db").read_bytes() == before
    assert [kept for _, kept in urls("all.db")] == [True, True, False, True]
    again = run("merge", "two.db", "all.db").stdout
    assert again == "two.db: 2 pages were kept there, 2 are known already, 0 new (0 of them kept)\n"
    run("merge", "two.db", "one.db", "-s", "DEDUP_MAX_LOST_WORDS=0")
    assert urls("one.db")[2] == ("http://two.db/0", True)


def test_a_name_is_inert_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.cli.options.is_watched", lambda: True)
    name = "\x1b]0;title\x07[bold].db"
    crawl(name, text(1))
    assert "merging \\x1b]0;title\\x07[bold].db" in run("merge", name, "other.db").stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["merge"], 2, "Missing argument 'OTHER'"),
        (["merge", "none.db", "x.db"], 1, "none.db does not exist"),
        (["merge", "one.db"], 1, "there is no Scrapy project here, and no .scrapy/dedup.db; name an"),
        (
            ["merge", "one.db", "one.db"],
            0,
            "one.db: 1 pages were kept there, 1 are known already, 0 new (0",
        ),
        (["merge", "page.txt", "x.db"], 1, "page.txt is not an index"),
    ],
)
def test_mistakes_are_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    # Who reads the settings of a project in this process sets it.
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    crawl("one.db", text(1))
    Path("page.txt").write_text("some words of a text")
    assert message in run(*arguments, code=code).output
    assert not Path("x.db").exists()


SID = Rule("a.example", "?sid")
SLASH = Rule("a.example", "/", "/shop/*")
OFF = Rule("b.example", "?x")
HOSTILE = Rule("z.example", "?\x1b[31m")
PAIRS = (
    ("http://a.example/p?sid=1", "http://a.example/p"),
    ("http://a.example/\x1b[2J?sid=1", "http://a.example/"),
)


@pytest.fixture
def index(path: Path) -> Path:
    with SQLiteIndex(path) as opened:
        book, old = UrlRules(opened.store), [Proposal(Rule("a.example", "?old"), 3, 3, ())]
        runs = [opened.runs.begin("site") for _ in range(2)]
        book.propose(runs[0].id, "site", old)
        new = [Proposal(SID, 12, 30, PAIRS), Proposal(SLASH, 5, 5, ()), Proposal(HOSTILE, 3, 3, ())]
        book.propose(runs[1].id, "site", new)
        wrong = Counterexample(OFF, "http://b.example/?x=1", "http://b.example/", "they show two pages")
        book.note_wrong(runs[1].id, [wrong])
    return path


def test_lists_what_the_last_crawl_proposes_and_what_is_off(index: Path) -> None:
    output = run("rules", index).output
    assert "1  a.example: the parameter ?sid does not matter" in output
    assert "12 groups of URLs, alike but for this, show one page each; 30 pages in all" in output
    assert "http://a.example/p?sid=1 shows the same as http://a.example/p" in output
    assert "2  a.example: a slash at the end does not matter, at /shop/*" in output
    assert "4  b.example: the parameter ?x does not matter: off" in output
    assert "http://b.example/?x=1 does not show the same as http://b.example/: they show two" in output
    assert "?old" not in output


def test_accepted_rules_go_into_the_file_beside_those_that_are_there(index: Path) -> None:
    file = Path("rules.toml")
    file.write_text('# by hand\n[[rule]]\nhost = "c.example"\nignore = "/tutorials/{id}/**"\n')
    assert "a slash at the end" in run("rules", "--accept", "2", "--accept", "1", index).output
    run("rules", "--accept", "1", index)
    assert read_rules(file) == [Rule("c.example", "/tutorials/{id}/**"), SLASH, SID]
    assert file.read_text().startswith("# by hand\n")
    assert "?sid does not matter (accepted)" in run("rules", index).output


def test_a_rule_that_was_switched_off_is_obeyed_again_when_it_is_accepted(index: Path) -> None:
    run("rules", "--accept", "4", index)
    assert read_rules(Path("rules.toml")) == [OFF]
    with SQLiteIndex(index) as opened:
        assert UrlRules(opened.store).wrong() == {}


def test_a_rule_that_takes_away_what_may_be_records_says_so(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with SQLiteIndex(path) as index, Detector(index, DedupConfig(store_pages=True)) as detector:
        coats = [(f"coat{size}", "Coat", 1, size[-1:] or "S") for size in ("", "?size=M", "?size=L")]
        hats = [(f"{seed}", f"Hat {seed}", seed, "S") for seed in range(9, 17)]
        for name, title, seed, size in hats + coats:
            html = f"<title>{title}</title><p>{text(seed, 150)}</p><p class=a>Size {size}, red"
            detector.check(Page.from_html(html, url=f"http://a.example/{name}", with_places=True))
        rules = Rule("a.example", "?size"), SID
        UrlRules(index.store).propose(1, "", [Proposal(rule, 3, 3, ()) for rule in rules])
    output = run("rules", path).output
    assert output.count("DO NOT ACCEPT") == 1
    assert "it takes away 2 pages that may be records" in output


def test_numbers_that_are_not_there_are_refused(index: Path) -> None:
    with SQLiteIndex("empty.db") as opened:
        opened.runs.begin("site")
    assert "no rules are proposed" in run("rules", "empty.db").output
    assert "there is no rule 9" in run("rules", "--accept", "1", "--accept", "9", index, code=1).output
    assert not Path("rules.toml").exists()


def test_to_forget_a_run_takes_back_what_it_proposed(index: Path) -> None:
    run("forget", "--run", 2, index)
    assert "?old" in run("rules", index).output
    assert "b.example" not in run("rules", index).output


VIEWS = Gap("html>body>p", ("Views", ":"), ("$", "$"))
NUMBER = Gap("html>body>p", (":",), ("$",), is_number=True)
ONLINE = Gap("div#online>ul>li", heading="Who is \x1b[31monline")
STAYS = Gap("html>body>p", ("Price", ":"), ("$", "$"))
LATEST = Gap("div.side>ul>li", heading="Latest")


@pytest.fixture
def places(path: Path) -> Path:
    moved = Evidence(moved=4, example="Views: 17")
    once = moved._replace(moved=1, crawls=1)
    gaps = {VIEWS: moved, NUMBER: moved, ONLINE: moved, STAYS: Evidence(moved=1, stayed=5)}
    gaps[LATEST] = Evidence(moved=6, is_of_site=True)
    with SQLiteIndex(path) as opened:
        put_noise(opened.store, SiteNoise("site", "news.example", 1, gaps))
        put_noise(opened.store, SiteNoise("site", "a.example", 1, {VIEWS: once}))
        opened.store.put(Note("noise.damaged", "[1, 2"), Note("noise.odd", "[[], 1, 2, [[1]]]"))
        # As it was written before lists were known.
        old = ["site", "old.example", 1, [[*VIEWS, *moved._replace(is_off=True)[:-1]]], []]
        opened.store.put(Note("noise.old", json.dumps(old)))
    return path


def test_lists_what_is_left_out(places: Path) -> None:
    lines = run("places", places).output.splitlines()
    assert lines[0] == "  1  a.example: Views: #"
    assert lines[1] == "     changed on 2 pages, stayed on 0; in html>body>p"
    assert lines[2] == "     Views: 17"
    assert [line for line in lines if line[2:3].isdigit()][1:] == [
        "  2  news.example: Views: #",
        "  3  news.example: Who is \\x1b[31monline: #",
        "  4  news.example: Latest: # (on all pages, so no change of one)",
        "  5  old.example: Views: # (off)",
    ]


def test_a_place_is_switched_off_with_what_is_in_it(places: Path) -> None:
    said = run("places", places, "--off", "2", "--off", "4").output
    told = "news.example: {}: # is not left out any more\n".format
    assert said == told("Views") + told("Latest")
    with SQLiteIndex(places) as opened:
        off = {
            site.host: {gap for gap, one in site.gaps.items() if one.is_off}
            for site in all_noise(opened.store)
        }
        assert off == {
            "news.example": {VIEWS, NUMBER, LATEST},
            "a.example": set(),
            "old.example": {VIEWS},
        }
        lists = [SiteLists({LATEST: site.gaps[LATEST]}) for site in all_noise(opened.store)[1:2]]
        assert [one.acting for one in lists] == [frozenset()]
    assert "2  news.example: Views: # (off)" in run("places", places).output


def test_a_place_that_is_not_there_is_an_error(places: Path, tmp_path: Path) -> None:
    assert "there is no place 9" in run("places", places, "--off", "9", code=1).output
    with SQLiteIndex(tmp_path / "empty.db"):
        pass
    assert "no places are known" in run("places", tmp_path / "empty.db").output


def test_an_explanation_tells_what_was_left_out(places: Path) -> None:
    with SQLiteIndex(places) as opened, Detector(opened, DedupConfig(store_pages=True)) as detector:
        for number, line in enumerate(("Likes: 17", "Views: 23", "Views:")):
            html, url = f"<body><p>{text(number)}</p><p>{line}</p>", f"http://a.example/{number}"
            detector.check(Page.from_html(html, url=url, with_places=True))
    # By its own text; the last one is stored without what is left out, and shows that of another page.
    for number, said in enumerate(("", "Views: [23]", "Views: [17]")):
        shown = run("explain", f"http://a.example/{number}", places).output
        assert re.findall("left out body > p “(.*)” .2 pages.\n", shown) == [said] * bool(said)
