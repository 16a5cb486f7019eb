"""The add-on, ``ADDONS = {"dedup.plugin.Addon": 500}``, and what a project says: settings, its index."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object
from scrapy.utils.project import data_path, get_project_settings, inside_project

from dedup import settings as reading
from dedup.files.marks_file import with_marks
from dedup.model.address import is_address
from dedup.settings import DedupSettings

# By name, as these read the settings from here.
_COMPONENTS = (
    # In front of every other pipeline, whatever its number.
    ("ITEM_PIPELINES", "tracking.TrackingPipeline", -1_000_000),
    # After cleaning, before storage: most projects store at 300.
    ("ITEM_PIPELINES", "pipeline.DedupPipeline", 250),
    # The last of all to see what a spider yields, as it will reach the pipelines.
    ("SPIDER_MIDDLEWARES", "middlewares.DedupSpiderMiddleware", -1_000_000),
    # The last to see a response, when all have let it pass: an error page is filtered at 50.
    ("SPIDER_MIDDLEWARES", "middlewares.DedupResponseMiddleware", 950),
    # After offsite (50), before robots.txt (100) and the cache (900).
    ("DOWNLOADER_MIDDLEWARES", "middlewares.UrlRulesMiddleware", 75),
)
_SHOWING = ("check", "fetch", "parse", "shell")  # the commands that only show pages; `view` is a `fetch`


class Addon:
    """Puts the pipeline and the middlewares in their places; a user's own priorities win."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Change *settings*; raises `dedup.model.errors.ConfigError` for a bad ``DEDUP_`` setting."""
        read_settings(settings)
        for name, component, priority in _COMPONENTS:
            found = load_object(f"dedup.plugin.{component}")
            settings.setdefault_in_component_priority_dict(name, found, priority)


def read_settings(settings: BaseSettings) -> DedupSettings:
    """Return the settings of dedup; raises `ConfigError` for a bad value or an unknown name."""
    found = reading.read_settings(_named(settings))
    return with_marks(found, index_path(found))


def _named(settings: BaseSettings) -> dict[str, Any]:
    return {name: settings[name] for name in settings if isinstance(name, str)}


def index_path(settings: DedupSettings) -> str:
    """Return where the index is: a relative path is in the project's data directory, ``.scrapy``.

    An address is as it is given, with its password; `shown_place` is for people.
    """
    return settings.index if is_address(settings.index) else data_file(settings.index)


def data_file(name: str) -> str:
    """Return the path of a file in the project's data directory, in ``.scrapy`` here outside of any."""
    try:
        return data_path(name)
    except NotConfigured:  # also where SCRAPY_SETTINGS_MODULE names one that has no scrapy.cfg here
        return str(Path(".scrapy", name))


def project_settings() -> dict[str, Any]:
    """Return the settings of the Scrapy project here by name, none outside of any."""
    return _named(get_project_settings()) if inside_project() else {}


def only_looks() -> bool:
    """Return whether this code runs inside a command that only shows pages.

    A crawler does not know the command that made it, and a project may override every setting that
    such a command sets; but until it ends, the command is on the stack.
    """
    # Not imported for this: what is on the stack has been, and they import much.
    modules = (sys.modules.get(f"scrapy.commands.{name}") for name in _SHOWING)
    showing = tuple(module.Command for module in modules if module)
    frame: Any = sys._getframe()
    while frame:
        if frame.f_code.co_name == "run" and isinstance(frame.f_locals.get("self"), showing):
            return True
        frame = frame.f_back
    return False
