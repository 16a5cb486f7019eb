"""The Scrapy side: an add-on, an item pipeline, a spider middleware, a command."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedup.plugin.addon import Addon
    from dedup.plugin.downloader_middlewares import BudgetMiddleware, UrlRulesMiddleware
    from dedup.plugin.notices import DuplicatePage
    from dedup.plugin.pages import page_from_response
    from dedup.plugin.pipeline import DedupPipeline
    from dedup.plugin.project import read_settings
    from dedup.plugin.spider_middlewares import DedupResponseMiddleware, DedupSpiderMiddleware
    from dedup.plugin.url_rules import RequestWithheld

__all__ = [
    "Addon",
    "BudgetMiddleware",
    "DedupPipeline",
    "DedupResponseMiddleware",
    "DedupSpiderMiddleware",
    "DuplicatePage",
    "RequestWithheld",
    "UrlRulesMiddleware",
    "page_from_response",
    "read_settings",
]

_HOMES = {
    "Addon": "addon",
    "BudgetMiddleware": "downloader_middlewares",
    "DedupPipeline": "pipeline",
    "DedupResponseMiddleware": "spider_middlewares",
    "DedupSpiderMiddleware": "spider_middlewares",
    "DuplicatePage": "notices",
    "RequestWithheld": "url_rules",
    "UrlRulesMiddleware": "downloader_middlewares",
    "page_from_response": "pages",
    "read_settings": "project",
}


def __getattr__(name: str) -> object:
    # The command is loaded by every call of scrapy; what a crawl needs is imported by a crawl.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
