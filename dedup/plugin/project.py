"""What the command line asks of the Scrapy project around it."""

from __future__ import annotations

from typing import Any

from scrapy.utils.project import get_project_settings, inside_project

from dedup.plugin.settings import index_path, named_settings, read_settings


def project_index() -> str | None:
    """Return the path of the index of the Scrapy project here, None outside of any."""
    return index_path(read_settings(get_project_settings())) if inside_project() else None


def project_settings() -> dict[str, Any]:
    """Return the settings of the Scrapy project here by name, none outside of any."""
    return named_settings(get_project_settings()) if inside_project() else {}
