"""The one line in a project's settings: ``ADDONS = {"dedup.plugin.Addon": 500}``."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from dedup.plugin.middlewares import DedupResponseMiddleware, DedupSpiderMiddleware, UrlRulesMiddleware
from dedup.plugin.pipeline import DedupPipeline
from dedup.plugin.project import read_settings
from dedup.plugin.tracking import TrackingPipeline


class Addon:
    """Puts the pipeline and the middlewares in their places; a user's own priorities win."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Change *settings*; raises `dedup.model.errors.ConfigError` for a bad ``DEDUP_`` setting."""
        read_settings(settings)
        for name, component, priority in (
            # In front of every other pipeline, whatever its number.
            ("ITEM_PIPELINES", TrackingPipeline, -1_000_000),
            # After cleaning, before storage: most projects store at 300.
            ("ITEM_PIPELINES", DedupPipeline, 250),
            # The last of all to see what a spider yields, as it will reach the pipelines.
            ("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, -1_000_000),
            # The last to see a response, when all have let it pass: an error page is filtered at 50.
            ("SPIDER_MIDDLEWARES", DedupResponseMiddleware, 950),
            # After offsite (50), before robots.txt (100) and the cache (900).
            ("DOWNLOADER_MIDDLEWARES", UrlRulesMiddleware, 75),
        ):
            settings.setdefault_in_component_priority_dict(name, component, priority)
