"""Do drops stay when each page comes as an item with its full text in a second field?

    python -m benchmarks.judged.beside DATA_FOLDER

Each page of the judged sites becomes an item with its `html`, and then one with a field of text beside it:
all its visible text, as Markdown and as lines.  The command prints how many of the drops of the first items
stay with the second, of all and of those that readers called right (label A), and what such a field takes.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from lxml import etree

from benchmarks.judged.labels import RIGHT, SET, labels_in, unpacked_sites
from benchmarks.judged.sites import SECRET
from dedup import DedupConfig, Detector, MemoryIndex, Page, fingerprint
from dedup.files.feeds import find_feeds
from dedup.reading.charset import decode
from dedup.reading.fields import FieldRule, raw_page_of
from dedup.reading.sighting import sighting_of

_HIDDEN = frozenset(["script", "style", "noscript", "template", "head"])
_BLOCKS = frozenset(["p", "div", "li", "tr", "td", "th", "dt", "dd", "pre", "table", "ul", "ol", "br"])
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SIGNS = {"b": "**", "strong": "**", "em": "*", "i": "*", "code": "`"}


def markdown(html: str) -> str:
    """Return the text of *html*, frame and all, as programs write it for language models."""
    parts = "".join(_markdown(etree.fromstring(html.encode(), etree.HTMLParser(encoding="utf-8"))))
    return "\n".join(line for line in (" ".join(one.split()) for one in parts.splitlines()) if line)


def _markdown(element: Any) -> Iterator[str]:
    tag = element.tag
    if isinstance(tag, str) and tag not in _HIDDEN:
        before, after = _HEADINGS.get(tag, _SIGNS.get(tag, "")), _SIGNS.get(tag, "")
        if tag in _BLOCKS or tag in _HEADINGS:
            before, after = f"\n{before}", "\n"
        if tag == "li":
            before += "- "
        if tag == "a" and element.get("href"):
            before, after = "[", f"](https://a.example/{element.get('href')})"
        yield before
        yield element.text or ""
        for child in element:
            yield from _markdown(child)
        yield after
    yield element.tail or ""


def lines(html: str) -> list[str]:
    """Return the texts of *html*, as ``::text`` gives them."""
    root = etree.fromstring(html.encode(), etree.HTMLParser(encoding="utf-8"))
    found: Any = root.xpath("//body//text()[not(parent::script or parent::style)]")
    return list(found)


KINDS: dict[str, Callable[[str], Any]] = {"markdown": markdown, "lines": lines}


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    right = {(label.site, label.page) for label in labels_in(folder / SET) if label.label == RIGHT}
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for site in unpacked_sites(folder / SET, Path(scratch)):
            _count(site, right, counts)
    for kind in KINDS:
        taken = counts[f"{kind} us"] / counts["pages"]
        click.echo(
            f"{kind}: {counts[kind]:,} of {counts['drops']:,} drops stay, of those called right "
            f"{counts[f'{kind} right']} of {counts['right']}; {counts[f'{kind} new']:,} drops more; "
            f"{counts[f'{kind} added']:,} of {counts['pages']:,} pages get words; "
            f"{taken:.0f} us a page of {counts['bytes'] / counts['pages']:,.0f} bytes"
        )


def _count(folder: Path, right: set[tuple[str, str]], counts: Counter[str]) -> None:
    (feed,) = find_feeds([folder], FieldRule()).feeds
    config = DedupConfig()
    detectors = {kind: Detector(MemoryIndex(), config) for kind in ("", *KINDS)}
    for file, record in zip(feed.files, feed.records(), strict=True):
        raw = feed.raw_page(record.payload, FieldRule())
        if raw is None:
            continue
        html = decode(raw.html) if isinstance(raw.html, bytes) else raw.html
        name = (folder.name, file.relative_to(folder).as_posix())
        counts["pages"] += 1
        counts["bytes"] += len(raw.html)
        alone = Page.from_html(html, url=raw.url)
        is_dropped = not _submitted(detectors[""], alone)
        counts["drops"] += is_dropped
        counts["right"] += is_dropped and name in right
        for kind, made in KINDS.items():
            try:
                text = made(html)
            except (etree.LxmlError, ValueError):
                text = ""
            page, taken = _read(alone, {"url": raw.url, "html": html, "text": text})
            stays = not _submitted(detectors[kind], page)
            counts[f"{kind} us"] += round(taken * 1e6)
            counts[f"{kind} added"] += page.text != alone.text
            counts[kind] += is_dropped and stays
            counts[f"{kind} right"] += is_dropped and stays and name in right
            counts[f"{kind} new"] += stays and not is_dropped


def _submitted(detector: Detector, page: Page) -> bool:
    prints = fingerprint(page, detector.config, secret=SECRET)
    sighting = sighting_of(page, prints, scope=detector.config.scope)
    return detector.submit(sighting, confirmed=True).kept


def _read(alone: Page, item: dict[str, Any]) -> tuple[Page, float]:
    begin = time.process_time()
    raw = raw_page_of(item, FieldRule())
    assert raw is not None
    return alone.of_record(raw), time.process_time() - begin


if __name__ == "__main__":
    main()
