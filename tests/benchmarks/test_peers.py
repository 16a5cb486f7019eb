"""The contenders on made pages, and how the tables get into the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.accuracy.peers import PEERS
from benchmarks.accuracy.report import Table
from benchmarks.accuracy.sets import LabelledSet, Pair, Part
from benchmarks.peer_contenders import CONTENDERS, OURS, Document, contender_of
from benchmarks.peers import described, short_table, with_rows, write_readme
from tests.pages import text

NAMES = [name for name in CONTENDERS if name in (OURS, "1e0ng simhash", "datasketch MinHash")]


def made(folder: Path, number: int) -> Path:
    path = folder / "html" / f"{number}.html"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"<p>{text(number)}</p>")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_contender_knows_a_page_again_and_no_other(tmp_path: Path, name: str) -> None:
    if name in PEERS:
        pytest.importorskip(CONTENDERS[name])
    contender = contender_of(name, tmp_path)
    given = [contender.prepared(Document(str(made(tmp_path, n)), text(n))) for n in (1, 2)]
    signatures = [contender.sign(one) for one in given]
    assert contender.threshold is not None
    assert contender.likeness(signatures[0], signatures[0]) >= contender.threshold
    assert contender.likeness(*signatures) < contender.threshold
    again = [contender.repeats(n, one) for n, one in enumerate([*given, given[0]])]
    assert again == [False, False, True]


def test_a_job_has_each_page_once_and_all_pairs_by_weight(tmp_path: Path) -> None:
    for number in range(6):
        made(tmp_path, number)
    pairs = [Pair(f"html/{n}.html", f"html/{n + 1}.html", int(n == 0), "g", None) for n in range(5)]
    pairs.append(Pair("html/0.html", "html/5.html", None, "g", None))
    part = Part(peers.STREAM, "made", tuple(pairs))
    job = described([LabelledSet("made", tmp_path, tuple(pairs))], [part], 3, 4)
    drawn = job["pairs"][peers.STREAM]
    assert len(drawn) == 3
    assert sorted(weight for *_, weight in drawn) == [1, 2, 2]
    named = {number for a, b, *_ in drawn for number in (a, b)}
    assert named == set(range(len(job["documents"])))
    assert job["stream"] == sorted(named)[:4]
    assert job["documents"][0]["text"].split() == text(0).split()


def test_the_table_replaces_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- lost -->\nold\n<!-- /lost -->\nafter\n")
    monkeypatch.setattr(peers, "README", readme)
    header = ("contender", "right drops, of 4", "wrong, of 5", "pages dropped", "words lost", "else")
    made = short_table(Table("What", header, [(OURS, 4, 1, 20, 30, 9)]))
    assert made.header == ("contender", "wrong, of 5", "pages dropped", "words lost")
    assert made.rows[0] == (OURS, 1, 20, 30)
    assert [row[1:] for row in made.rows[1:]] == [("-", "-", "by URL only")] * 2
    table = made.markdown().split("\n\n", 1)[1]
    for _ in range(2):
        write_readme(peers.LOST_MARKS, table)
    assert readme.read_text() == f"before\n<!-- lost -->\n{table}\n<!-- /lost -->\nafter\n"
    assert table.count("|---") == table.splitlines()[0].count("|") - 1


def test_rows_replace_those_of_the_same_name_in_their_table_only() -> None:
    before = Table("Speed", ("who", "ms"), [("we", 1), ("they", 2)]).markdown()
    other = Table("Size", ("who", "MB"), [("we", 3)]).markdown()
    text = f"{other}\n\n{before}\n<!-- end -->\n\nafter | all\n"
    found = with_rows(text, Table("", ("who", "ms"), [("we", 4), ("nobody", 5)]))
    assert found == text.replace("| we | 1 |", "| we | 4 |")
    with pytest.raises(ValueError, match="not found"):
        with_rows(text, Table("", ("who", "seconds"), []))


def test_sections_that_were_not_measured_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tmp_path / "peers.md"
    old, other = (Table(title, ("who",), [("we",)]) for title in ("Speed", "Size"))
    document.write_text(f"# Old\n\nnote\n\n{old.markdown()}\n\n{other.markdown()}\n")
    monkeypatch.setattr(peers, "DOCUMENT", document)
    new = Table("Speed", ("who",), [("they",)])
    for _ in range(2):
        peers.write_document("new note", [new])
        head, _, sections = document.read_text().partition("\n\nnew note\n\n")
        assert head == peers.HEAD
        assert sections == f"{new.markdown()}\n\n{other.markdown()}\n"
