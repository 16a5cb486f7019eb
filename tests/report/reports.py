"""Reports to open in a browser: honest ones, hostile ones and large ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from dedup import DedupConfig, Detector, MemoryIndex, Page, SQLiteIndex
from dedup.index import Index
from dedup.model.verdict import Verdict
from dedup.report.clusters import Report
from dedup.report.html import page_of
from dedup.report.text import CLUSTERS, lines
from tests.support.pages import edited, page, text

# What would run, or mislead, if it were taken for more than text.
HOSTILE = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script><!--",
    "<img src=x onerror='window.pwned = 1'>",
    "\"'><svg onload=window.pwned=1>",
    "javascript:window.pwned=1//",
    "{{ 7*7 }}${7*7}",
    "\u202egnp.exe\u2066\u200f",
    "\x00\x1b[31m\x07\u2028\u2029\ud800",
    "X" * 1_000_000,
    "<!--<script>",
    "]]>&lt;b&gt;&#x3c;b&#x3e;",
]
URLS = [
    "javascript:window.pwned=1",
    " javascript:window.pwned=1",
    "data:text/html,<script>window.pwned=1</script>",
    "https://evil.example/\"onmouseover='window.pwned=1'",
    "https://evil.example/<script>window.pwned=1</script>",
    "https://evil.example/\u202etxt.exe",
    "https://evil.example/\n//javascript:1",
    "vbscript:1",
    "//evil.example/",
    "https://" + "x" * 1_000_000,
    "",
]


def write(index: Index, path: Path, **choices: Any) -> Path:
    path.write_text(html(index, **choices), "utf-8", newline="")
    return path


def html(index: Index, *, run: int | None = None, **choices: Any) -> str:
    return page_of(Report(index, run=run), **choices)


def told(index: Index, *, run: int | None = None, limit: int = CLUSTERS) -> list[str]:
    return [line for _, line in lines(Report(index, run=run), limit)]


def judged(path: Path, *pages: Page, **config: Any) -> list[Verdict]:
    """Judge *pages* in a run into the index at *path*, which stores their texts."""
    chosen = DedupConfig(**{"store_pages": True, **config})
    with SQLiteIndex(path) as index, Detector(index, chosen, spider="news") as detector:
        return [detector.check(one) for one in pages]


def honest_index(path: Path, copies: int = 60) -> Path:
    """Fill the index *path* with clusters on three sites, in two runs, texts stored."""
    config = DedupConfig(store_pages=True)
    with SQLiteIndex(path) as index:
        for run in range(2):
            with Detector(index, config, spider="site") as detector, index.batch():
                for number in range(copies):
                    seed, host = number // 4, f"site{number % 3}.example"
                    url = f"https://{host}/{run}/{number}"
                    content = text(seed) if number % 7 == 0 else edited(seed, number % 30)
                    title = f"Page {number} of run {run}"
                    detector.check(replace(page(content, url, template=seed), title=title))
    return path


def hostile_index(index: Index | None = None) -> Index:
    """Return an index of pages whose titles, URLs and texts try everything, in memory unless given."""
    index = index or MemoryIndex()
    with Detector(index, DedupConfig(store_pages=True), spider=HOSTILE[0]) as detector:
        for number, (title, url) in enumerate(zip(HOSTILE, URLS, strict=True)):
            for copy in range(2):
                content = f"{edited(number, 1 + 3 * copy)} {title[:300]}"
                made = page("", url + ("" if copy else " "))
                seen = replace(made, title=title, text=content, body_digest=bytes([number, copy] * 8))
                detector.check(seen)
    return index
