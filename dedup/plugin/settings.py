"""The settings of a Scrapy project: its `DEDUP_` ones, and where its index is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from dedup.front import names, reading
from dedup.front.settings import DedupSettings
from dedup.index import is_address

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def read_settings(settings: BaseSettings) -> DedupSettings:
    """Return the settings of dedup; raises `ConfigError` for a bad value or an unknown name."""
    return reading.read_settings(named_settings(settings))


def named_settings(settings: BaseSettings) -> dict[str, Any]:
    """Return all *settings* by name; raises `ConfigError` for one of ours that Scrapy passed over."""
    names.refuse_unknown(_passed_over(settings))
    return {name: settings[name] for name in settings if isinstance(name, str)}


def index_path(settings: DedupSettings) -> str:
    """Return where the index is: a relative path is in the project's data directory, ``.scrapy``.

    An address is as it is given, with its password; `shown_place` is for people.
    """
    if is_address(settings.index):
        return settings.index
    try:
        return data_path(settings.index)
    except NotConfigured:  # SCRAPY_SETTINGS_MODULE names a project that has no scrapy.cfg here
        return str(Path(".scrapy", settings.index))


def _passed_over(settings: BaseSettings) -> list[str]:
    """Return our names in small letters in the module of the project: Scrapy reads capitals only."""
    module = sys.modules.get(os.environ.get("SCRAPY_SETTINGS_MODULE", ""))
    written = [name for name, value in vars(module).items() if not callable(value)] if module else []
    known = names.setting_names()
    return [
        name
        for name in written
        if name not in settings
        and names.normal_form(name) in known
        and names.normal_form(name) not in settings
    ]
