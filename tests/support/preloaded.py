"""What every crawl of the tests needs, imported once; it must start nothing, as it is forked."""

import sys
import warnings
from contextlib import suppress
from importlib import import_module

from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.settings.default_settings import DOWNLOADER_MIDDLEWARES_BASE, SPIDER_MIDDLEWARES_BASE

from dedup import Page, fingerprint

with warnings.catch_warnings():
    warnings.simplefilter("error", ScrapyDeprecationWarning)
    for name in (
        *("bs4", "jieba", "rjieba", "OpenSSL", "twisted.web.client"),
        *("scrapy.core.downloader.contextfactory", "scrapy.core.downloader.handlers.http11"),
        *("scrapy.core.engine", "scrapy.crawler", "scrapy.extensions.feedexport"),
        *("scrapy.extensions.remote_control", "scrapy.downloadermiddlewares.httpcompression"),
        *(path.rpartition(".")[0] for path in DOWNLOADER_MIDDLEWARES_BASE | SPIDER_MIDDLEWARES_BASE),
        *("scrapy.logformatter", "scrapy.pqueues", "scrapy.squeues", "scrapy.statscollectors"),
        *("dedup.plugin.addon", "dedup.plugin.budgets", "dedup.plugin.middlewares"),
        *("crawler.spiders.site", "tests.plugin.spiders"),
    ):
        with suppress(ModuleNotFoundError):  # each release of Scrapy has others
            import_module(name)

fingerprint(Page.from_text("汉字"))  # reads the tables of Chinese words

assert "twisted.internet.reactor" not in sys.modules
