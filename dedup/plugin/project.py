"""What the command line asks of the Scrapy project around it."""

from __future__ import annotations

from scrapy.utils.project import get_project_settings, inside_project

from dedup.plugin.settings import read_settings


def project_index() -> str | None:
    """Return the path of the index of the Scrapy project here, None outside of any."""
    return read_settings(get_project_settings()).index_path if inside_project() else None
