"""What a project and its command say: the settings of dedup, checked, and where its index is."""

from __future__ import annotations

import logging
import sys
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.project import data_path, get_project_settings, inside_project

from dedup import settings as reading
from dedup.files.marks_file import with_marks
from dedup.index.address import is_address
from dedup.model.printable import printable
from dedup.settings import DedupSettings

logger = logging.getLogger(__name__)
# The file in a JOBDIR whose text names the job.
TOKEN = "dedup.job"  # noqa: S105 - a name, no secret
_LONGEST = 100
# The commands that only show pages; `view` is a `fetch`.
_SHOWING = ("check", "fetch", "parse", "shell")


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
    if is_address(settings.index):
        return settings.index
    try:
        return data_path(settings.index)
    except NotConfigured:  # SCRAPY_SETTINGS_MODULE names a project that has no scrapy.cfg here
        return str(Path(".scrapy", settings.index))


def project_index(name: str = "") -> str | None:
    """Return where the index of the project here is, or one of that *name*; None outside of any."""
    if not inside_project():
        return None
    settings = read_settings(get_project_settings())
    return index_path(replace(settings, index=name or settings.index))


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


def job_of(folder: str | None) -> str:
    """Return the name of the job in *folder*, "" for none; a new folder gets a new name."""
    if not folder:
        return ""
    path = Path(folder, TOKEN)
    try:
        if path.exists() and (name := path.read_text("utf-8", "replace").strip()):
            return name[:_LONGEST]
        path.parent.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        path.write_text(name + "\n", "utf-8")
    except OSError as error:
        logger.warning(
            "%s cannot be written (%s): a crawl that is resumed in this JOBDIR will be another run",
            printable(str(path)),
            error.strerror,
        )
        return ""
    return name
