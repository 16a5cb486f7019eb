"""The whole bench on two tiny sets of made-up pages."""

from __future__ import annotations

import csv
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks.accuracy.__main__ import CSV, DOCUMENT, main
from tests.pages import edited, text

HEADER = "a,b,label,group,jaccard\n"


def html(content: str, menu: str = "Home Products About") -> str:
    return f"<html><head><title>T</title></head><body><nav>{menu}</nav><p>{content}</p></body></html>"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    shops = folder / "shops" / "html"
    shops.mkdir(parents=True)
    for name, content in {
        "tea-1": html(text(1)),
        "tea-2": html(edited(1, 2), "Home Offers"),
        "cup-1": html(text(2)),
        "cup-2": html(edited(2, 100)),
    }.items():
        (shops / f"{name}.html").write_text(content)
    (folder / "shops" / "pairs.csv").write_text(
        HEADER
        + "html/tea-1.html,html/tea-2.html,1,,.97\n"
        + "html/tea-1.html,html/cup-1.html,0,,.0\n"
        + "html/cup-1.html,html/cup-2.html,1,,.1\n"
    )
    manuals = tmp_path / "html"
    rows = []
    for place, group in enumerate(("brewing", "pouring")):
        seed = 10 * place + 10
        (manuals / group).mkdir(parents=True)
        for name, content in {
            "a": text(seed),
            "b": edited(seed, 1),
            "c": text(seed + 1),
            "d": edited(seed, 10),
        }.items():
            (manuals / group / f"{name}.html").write_text(html(content))
        for name, label, jaccard in (("b", "1", "0.97"), ("c", "0", "0.0"), ("d", "", "0.7")):
            rows.append(f"html/{group}/a.html,html/{group}/{name}.html,{label},{group},{jaccard}\n")
    # A table that is not of pairs.
    (folder / "sites").mkdir()
    (folder / "sites" / "pairs.csv").write_text("site,page,label\ntea,a.html,A\n")
    (folder / "manuals").mkdir()
    (folder / "manuals" / "pairs.csv").write_text(HEADER + "".join(rows))
    with tarfile.open(folder / "manuals" / "html.tar.xz", "w:xz") as archive:
        archive.add(manuals, "html")
    notes = folder / "notes"
    notes.mkdir()
    for name in ("first", "second"):
        (notes / name).write_text("Steep the leaves for four minutes.")
    return folder


def run(data: Path, docs: Path, *options: str) -> Result:
    return CliRunner().invoke(
        main, [str(data), "--jobs", "1", "--docs", str(docs), *options], catch_exceptions=False
    )


def test_a_run_scores_every_set_and_recipe(data: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    names = ("default", "lost <= 15 words", "by bands")
    options = [part for name in names for part in ("--recipe", name)]
    result = run(data, docs, *options)
    assert result.exit_code == 0
    document = (docs / DOCUMENT).read_text()
    # Parts by group; label 1 / 0 / grey; the edit of 100 words of 120 is missed.
    assert "| manuals/brewing | 1 / 1 / 1 | 1 (1) | 1 (1) | 1 (1) | 0 (0) |" in document
    assert "| shops | 2 / 1 / 0 | 1 (1) | 0.5 (0.5) | 0.6667 (0.6667) | 0 (0) |" in document
    assert "| manuals/brewing | brewing, label grey | 1 | 1 |" in document
    # Of the two edits one loses few words, one most of them.
    assert "| shops | 1 | 1 | 1 | 0 |" in document
    assert "| shops | 0.9-1.0 | 1 | 1 |" in document
    assert "| default | 66 | " in document
    assert "| first | second | exact_duplicate | 0 | 1.000 |" in document
    rows = list(csv.DictReader((docs / CSV).open(newline="")))
    assert len(rows) == 3 * (1 + 1 + 1)
    assert {row["recipe"] for row in rows} == set(names)
    shops = rows[2]
    assert (shops["set"], shops["rule_hits"], shops["rule_misses"]) == ("shops", "1", "1")


def test_a_folder_without_sets_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, tmp_path / "docs")
    assert result.exit_code == 2
    assert "no set with pairs" in result.output
