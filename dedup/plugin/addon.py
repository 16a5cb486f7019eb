"""The one line in a project's settings: ``ADDONS = {"dedup.plugin.Addon": 500}``."""

from __future__ import annotations

import logging

from scrapy.settings import BaseSettings

from dedup.model.errors import ConfigError
from dedup.plugin.crawl_index import CannotBegin
from dedup.plugin.downloader_middlewares import UrlRulesMiddleware
from dedup.plugin.pipeline import DedupPipeline
from dedup.plugin.project import read_settings
from dedup.plugin.spider_middlewares import DedupResponseMiddleware, DedupSpiderMiddleware
from dedup.plugin.tracking import TrackingPipeline

# After cleaning, before storage: most projects store at 300.
PIPELINE_PRIORITY = 250
# In front of every other pipeline, whatever its number.
TRACKING_PRIORITY = -1_000_000
# The last of all to see what a spider yields, as it will reach the pipelines.
MIDDLEWARE_PRIORITY = -1_000_000
# The last to see a response, when all others have let it pass: an error page is filtered at 50.
RESPONSES_PRIORITY = 950
# After what must not be requested at all (offsite, 50), before robots.txt (100) and the cache (900).
RULES_PRIORITY = 75


class WrongSetting(CannotBegin, ConfigError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of a setting."""


def _in_one_line(record: logging.LogRecord) -> bool:
    """Leave of a *record* of why a crawl cannot begin what it says; where it was raised is no use."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, CannotBegin):
        record.name, record.msg, record.args, record.exc_info = "dedup", str(error), (), None
    return True


class Addon:
    """Puts the pipeline and the middlewares in their places; a user's own priorities win."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Change *settings*; raises `dedup.model.errors.ConfigError` for a bad ``DEDUP_`` setting."""
        for name in ("asyncio", "twisted"):  # they log what ends a crawl before it begins
            logging.getLogger(name).addFilter(_in_one_line)
        try:
            read_settings(settings)
        except ConfigError as error:
            raise WrongSetting(str(error)) from None
        for name, component, priority in (
            ("ITEM_PIPELINES", TrackingPipeline, TRACKING_PRIORITY),
            ("ITEM_PIPELINES", DedupPipeline, PIPELINE_PRIORITY),
            ("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, MIDDLEWARE_PRIORITY),
            ("SPIDER_MIDDLEWARES", DedupResponseMiddleware, RESPONSES_PRIORITY),
            ("DOWNLOADER_MIDDLEWARES", UrlRulesMiddleware, RULES_PRIORITY),
        ):
            settings.setdefault_in_component_priority_dict(name, component, priority)
