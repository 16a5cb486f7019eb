"""What every crawl of the tests needs, imported once; it must start nothing, as it is forked."""

import inspect
import sys
import warnings
from contextlib import suppress
from importlib import import_module

from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.settings import default_settings as of

from dedup import Page, fingerprint

_PATHS = of.DOWNLOADER_MIDDLEWARES_BASE | of.SPIDER_MIDDLEWARES_BASE | of.EXTENSIONS_BASE

with warnings.catch_warnings():
    warnings.simplefilter("error", ScrapyDeprecationWarning)
    for name in (
        *("bs4", "jieba", "rjieba", "OpenSSL", "twisted.web.client"),
        *("scrapy.core.downloader.contextfactory", "scrapy.core.downloader.handlers.http11"),
        *("scrapy.core.engine", "scrapy.crawler", "scrapy.extensions.feedexport"),
        *(path.rpartition(".")[0] for path in _PATHS),
        *("scrapy.logformatter", "scrapy.pqueues", "scrapy.squeues", "scrapy.statscollectors"),
        *("dedup.plugin.addon", "dedup.plugin.budgets", "dedup.plugin.middlewares"),
        *("dedup.report.clusters", "dedup.report.losses", "rapidfuzz", "tests.plugin.storages"),
        *("crawler.spiders.site", "tests.plugin.spiders"),
    ):
        with suppress(ModuleNotFoundError):  # each release of Scrapy has others
            import_module(name)

fingerprint(Page.from_text("汉字"))  # reads the tables of Chinese words
inspect.getsource(fingerprint)  # as Scrapy asks for that of callbacks: compiles patterns

assert "twisted.internet.reactor" not in sys.modules
