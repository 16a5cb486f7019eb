"""Settings for work on the crawler: ``SCRAPY_PROJECT=development scrapy crawl ...``.

After the first time pages come from a cache, at full speed.  Everything is logged.
"""

from settings import *  # noqa: F403

AUTOTHROTTLE_ENABLED = False
DOWNLOAD_DELAY = 0
HTTPCACHE_ENABLED = True
LOG_LEVEL = "DEBUG"
DEDUP_INDEX = "dedup-development.db"
