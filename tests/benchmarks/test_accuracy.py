"""The whole bench on two tiny sets of made-up pages."""

from __future__ import annotations

import tarfile
from pathlib import Path

from click.testing import CliRunner

from benchmarks.accuracy import main
from tests.pages import edited, text


def html(content: str) -> str:
    return f"<html><head><title>T</title></head><body><nav>Home</nav><p>{content}</p></body></html>"


def put(folder: Path, pages: dict[str, str], rows: str) -> None:
    for name, content in pages.items():
        (folder / "html" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "html" / name).write_text(html(content))
    (folder / "pairs.csv").write_text("a,b,label,group\n" + rows)


def test_every_set_is_scored_by_its_groups(tmp_path: Path) -> None:
    shops = {"tea": text(1), "tea2": edited(1, 2), "cup": text(2), "cup2": edited(2, 100)}
    put(
        tmp_path / "shops", shops, "html/tea,html/tea2,1,\nhtml/tea,html/cup,0,\nhtml/cup,html/cup2,1,\n"
    )
    manuals: dict[str, str] = {}
    rows = ""
    for seed, group in ((10, "brewing"), (20, "pouring")):
        pages = {"a": text(seed), "b": edited(seed, 1), "c": text(seed + 1), "d": edited(seed, 10)}
        manuals |= {f"{group}/{name}": content for name, content in pages.items()}
        rows += "".join(
            f"html/{group}/a,html/{group}/{b},{n},{group}\n"
            for b, n in zip("bcd", ("1", "0", ""), strict=True)
        )
    put(tmp_path / "manuals", manuals, rows)
    with tarfile.open(tmp_path / "manuals" / "html.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "manuals" / "html", "html")
    (tmp_path / "manuals" / "html").rename(tmp_path / "unpacked")
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "pairs.csv").write_text("site,page,label\ntea,a.html,A\n")  # not of pairs
    result = CliRunner().invoke(main, [str(tmp_path), "--jobs", "1"], catch_exceptions=False)
    assert result.exit_code == 0
    # The edit of 100 words of 120 is missed.
    assert "| manuals/brewing | 1 / 1 | 1.000 | 1.000 | 1.000 | 0 | 1 of 1 |" in result.output
    assert "| shops | 2 / 1 | 1.000 | 0.500 | 0.667 | 0 |  |" in result.output
