"""The Scrapy side: an add-on, an item pipeline, middlewares, a command."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedup.plugin.addon import Addon as Addon
    from dedup.plugin.addon import read_settings as read_settings
    from dedup.plugin.budgets import BudgetMiddleware as BudgetMiddleware
    from dedup.plugin.middlewares import DedupResponseMiddleware as DedupResponseMiddleware
    from dedup.plugin.middlewares import DedupSpiderMiddleware as DedupSpiderMiddleware
    from dedup.plugin.middlewares import UrlRulesMiddleware as UrlRulesMiddleware
    from dedup.plugin.pages import page_from_response as page_from_response
    from dedup.plugin.pipeline import DedupPipeline as DedupPipeline
    from dedup.plugin.stats import DuplicatePage as DuplicatePage
    from dedup.plugin.url_rules import RequestWithheld as RequestWithheld

_HOMES = {
    "Addon": "addon",
    "BudgetMiddleware": "budgets",
    "DedupPipeline": "pipeline",
    "DedupResponseMiddleware": "middlewares",
    "DedupSpiderMiddleware": "middlewares",
    "DuplicatePage": "stats",
    "RequestWithheld": "url_rules",
    "UrlRulesMiddleware": "middlewares",
    "page_from_response": "pages",
    "read_settings": "addon",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    # The command is loaded by every call of scrapy; what a crawl needs is imported by a crawl.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
