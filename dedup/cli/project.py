"""The settings that a command goes by: those given to it, and those of the Scrapy project here.

Where Scrapy is not installed there is no project; everything else works all the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedup.front.reading import read_settings
from dedup.front.settings import DedupSettings
from dedup.recipes.config import FILES
from dedup.recipes.recipe import PARAMETERS

if TYPE_CHECKING:
    from types import ModuleType


def project_index() -> str | None:
    """Return the path of the index of the Scrapy project here, None outside of any."""
    project = _scrapy_project()
    path: str | None = project.project_index() if project else None
    return path


def settings_of(given: Mapping[str, str], recipe: Mapping[str, str]) -> DedupSettings:
    """Return the settings *given*, then those of the project here, if there is one.

    What neither sets is as in *recipe*, an index's, so that its fingerprints can be compared with;
    raises `ConfigError` for a bad value or an unknown name.
    """
    known = [name for name in recipe if name in PARAMETERS and name not in FILES]
    return read_settings({**_project_settings(), **given}, {name: recipe[name] for name in known})


def path_of(name: str, given: Mapping[str, str]) -> str:
    """Return the path in the setting of that *name*, *given* or of the project here, "" for none."""
    return str({**_project_settings(), **given}.get(name) or "")


def _project_settings() -> dict[str, Any]:
    project = _scrapy_project()
    values = project.project_settings() if project else {}
    return {name: value for name, value in values.items() if value is not None}


def _scrapy_project() -> ModuleType | None:
    """Return the module that reads the project, None outside of any or where Scrapy is not installed."""
    if not is_inside_project():  # importing Scrapy would take longer than all else at the start
        return None
    try:
        from dedup.plugin import settings
    except ModuleNotFoundError as error:
        if error.name != "scrapy":
            raise
        return None
    return settings


def is_inside_project() -> bool:
    """Return whether Scrapy would look for the settings of a project here."""
    here = Path.cwd()
    return bool(os.environ.get("SCRAPY_SETTINGS_MODULE")) or any(
        (folder / "scrapy.cfg").exists() for folder in (here, *here.parents)
    )
