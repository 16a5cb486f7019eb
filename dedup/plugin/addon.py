"""The one line in a project's settings: ``ADDONS = {"dedup.plugin.Addon": 500}``."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from dedup.plugin.middlewares import DedupResponseMiddleware, DedupSpiderMiddleware, UrlRulesMiddleware
from dedup.plugin.pipeline import DedupPipeline
from dedup.plugin.project import read_settings
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


class Addon:
    """Puts the pipeline and the middlewares in their places; a user's own priorities win."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Change *settings*; raises `dedup.model.errors.ConfigError` for a bad ``DEDUP_`` setting."""
        read_settings(settings)
        for name, component, priority in (
            ("ITEM_PIPELINES", TrackingPipeline, TRACKING_PRIORITY),
            ("ITEM_PIPELINES", DedupPipeline, PIPELINE_PRIORITY),
            ("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, MIDDLEWARE_PRIORITY),
            ("SPIDER_MIDDLEWARES", DedupResponseMiddleware, RESPONSES_PRIORITY),
            ("DOWNLOADER_MIDDLEWARES", UrlRulesMiddleware, RULES_PRIORITY),
        ):
            settings.setdefault_in_component_priority_dict(name, component, priority)
