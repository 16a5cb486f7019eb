"""What the command line asks of the Scrapy project around it."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy.settings import BaseSettings, Settings
from scrapy.utils.project import get_project_settings, inside_project

from dedup.plugin.settings import PREFIX, PluginSettings, read_settings, setting_names
from dedup.recipes.config import FILES


def project_index() -> str | None:
    """Return the path of the index of the Scrapy project here, None outside of any."""
    return read_settings(get_project_settings()).index_path if inside_project() else None


def settings_of(given: Mapping[str, str], recipe: Mapping[str, str]) -> PluginSettings:
    """Return the settings *given*, then those of the project here, if there is one.

    What neither sets is as in *recipe*, an index's, so that its fingerprints can be compared with;
    raises `ConfigError` for a bad value or an unknown name.
    """
    settings: BaseSettings = get_project_settings() if inside_project() else Settings()
    for name, value in recipe.items():
        setting = PREFIX + name.upper()
        if setting in setting_names() and name not in FILES and settings.get(setting) is None:
            settings.set(setting, value)
    settings.setdict(dict(given), "cmdline")
    return read_settings(settings)
