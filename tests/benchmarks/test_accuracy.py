"""The whole bench on two tiny sets of made-up pages."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks.accuracy import main
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
    return folder


def run(data: Path) -> Result:
    return CliRunner().invoke(main, [str(data), "--jobs", "1"], catch_exceptions=False)


def test_every_set_is_scored_by_its_groups(data: Path) -> None:
    result = run(data)
    assert result.exit_code == 0
    # Parts by group; the edit of 100 words of 120 is missed.
    assert "| manuals/brewing | 1 / 1 | 1.000 | 1.000 | 1.000 | 0 | 1 of 1 |" in result.output
    assert "| shops | 2 / 1 | 1.000 | 0.500 | 0.667 | 0 |  |" in result.output


def test_a_folder_without_sets_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "no set with pairs" in result.output
