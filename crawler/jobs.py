"""Jobs (``JOBDIR``) that were killed: Scrapy saves its queue only when a crawl stops by itself."""

from __future__ import annotations

from logging import getLogger
from pathlib import Path
from shutil import rmtree

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

logger = getLogger(__name__)

MARK = "crawler.running"  # the file in a JOBDIR that a crawl removes when it stops by itself
# What was met, what waits and what was learned no longer belong together after a kill.
_STALE = ("requests.seen", "requests.queue", "spider.state", "dedup.parked", "not-visited.jsonl")


class JobExtension:
    """Begins a job that was killed from its start again, so that no page is lost.

    Otherwise what had waited would be lost, and the start pages would be taken for visited.  The pages
    come again, but the items that the job has delivered are dropped: it is one run for the add-on.
    """

    def __init__(self, folder: Path) -> None:
        self._mark = folder / MARK

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JobExtension:
        if not (folder := crawler.settings["JOBDIR"]):
            raise NotConfigured
        extension = cls(Path(folder))
        extension.begin()
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def begin(self) -> None:
        """Remove what a killed crawl has left, and mark the job as running."""
        folder = self._mark.parent
        folder.mkdir(parents=True, exist_ok=True)
        if self._mark.exists():
            logger.warning(
                "The last crawl of the job in %s was killed. It begins again, and drops what it had "
                "delivered",
                folder,
            )
            for path in (path for name in _STALE for path in folder.glob(f"{name}*")):
                rmtree(path) if path.is_dir() else path.unlink()
        self._mark.touch()

    def spider_closed(self) -> None:
        """Take the mark away: the queue was saved before."""
        self._mark.unlink(missing_ok=True)
