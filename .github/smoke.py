"""Try the installed package: a crawl drops a copy and a near copy.

Run it where the package is installed, and not from the tree: ``python .github/smoke.py``
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from scrapy import Spider
from scrapy.crawler import CrawlerProcess

import dedup

TEXT = " ".join(f"word{number} of the page about lamps{number % 7}" for number in range(60))
PAGES = {
    "http://example.com/1": TEXT,
    "http://example.com/2": TEXT,
    "http://example.com/3": TEXT.replace("word30", "other"),
    "http://example.com/4": " ".join(f"tide{number} and sand" for number in range(60)),
}


class Pages(Spider):
    """Gives the pages as items; nothing is downloaded."""

    name = "pages"

    async def start(self) -> AsyncIterator[Any]:
        """Yield an item for each page."""
        for url, text in PAGES.items():
            yield {"url": url, "text": text}


def main() -> str | None:
    """Return what is wrong, None if nothing is."""
    where = Path(dedup.__file__)
    print(f"scrapy-dedup {dedup.__version__}, {where}")
    if Path(__file__).parent.parent.resolve() in where.resolve().parents:
        return "this is the tree, not what was installed"
    os.chdir(mkdtemp())
    process = CrawlerProcess(
        {
            "ADDONS": {"dedup.plugin.Addon": 500},
            "DEDUP_TEXT_FIELDS": ["text"],
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(Pages)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    kept, dropped = stats.get("item_scraped_count"), stats.get("item_dropped_count")
    return None if (kept, dropped) == (2, 2) else f"kept {kept} and dropped {dropped}, not 2 and 2"


if __name__ == "__main__":
    sys.exit(main())
