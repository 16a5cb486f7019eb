"""For work on the crawler: ``SCRAPY_PROJECT=development scrapy crawl ...``.

Pages come from a cache after the first time, at full speed, and everything is logged.
"""

from settings import *  # noqa: F403

AUTOTHROTTLE_ENABLED = False
DOWNLOAD_DELAY = 0
HTTPCACHE_ENABLED = True
LOG_LEVEL = "DEBUG"
DEDUP_INDEX = "dedup-development.db"
