"""All `DEDUP_` settings of a Scrapy project, read and checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from scrapy.utils.project import data_path

from dedup.config import DedupConfig
from dedup.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PREFIX = "DEDUP_"
SOURCES = ("item", "response")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings:
    """What the plugin does with items; the field `text_fields` is the setting ``DEDUP_TEXT_FIELDS``."""

    index: str = "dedup.db"
    """Path of the index; a relative one is inside Scrapy's data directory, ``.scrapy``."""
    source: str = "item"
    """What is judged: the `item`, or the `response` that gave it, where it gave no other item."""
    html_field: str = ""
    """The field of an item that holds its HTML."""
    text_fields: tuple[str, ...] = ()
    """The fields of an item that hold its text."""
    url_field: str = "url"
    """The field of an item that holds its URL."""
    wait: float = 30.0
    """How many seconds a copy waits for the fate of the item that it repeats."""
    config: DedupConfig = field(default_factory=DedupConfig)

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ConfigError(f"source ({self.source!r}) must be one of {', '.join(SOURCES)}")
        if not self.index:
            raise ConfigError("index ('') must be the path of a file")
        if self.wait < 0:
            raise ConfigError(f"wait ({self.wait}) must be 0 seconds or more")

    @property
    def index_path(self) -> str:
        return data_path(self.index)


def read_settings(settings: BaseSettings) -> PluginSettings:
    """Return the plugin's settings; raises `ConfigError` for a bad value or an unknown name."""
    _refuse_unknown(name for name in settings if isinstance(name, str) and name.startswith(PREFIX))
    try:
        config = DedupConfig(**_values(settings, DedupConfig))
        return PluginSettings(config=config, **_values(settings, PluginSettings))
    except ConfigError as error:
        raise ConfigError(_as_setting(str(error))) from error


def setting_names() -> dict[str, Any]:
    """Return the name of every setting with its default."""
    return {
        PREFIX + choice.name.upper(): choice.default
        for kind in (PluginSettings, DedupConfig)
        for choice in fields(kind)
        if choice.name != "config"
    }


def _values(settings: BaseSettings, kind: type[PluginSettings | DedupConfig]) -> dict[str, Any]:
    values = {}
    for choice in fields(kind):
        name = PREFIX + choice.name.upper()
        if choice.name != "config" and settings.get(name) is not None:
            values[choice.name] = _read(settings, name, type(choice.default))
    return values


def _read(settings: BaseSettings, name: str, wanted: type) -> Any:
    readers: dict[type, Callable[[str], Any]] = {
        bool: settings.getbool,
        int: settings.getint,
        float: settings.getfloat,
        str: lambda name: str(settings.get(name)),
        tuple: lambda name: tuple(settings.getlist(name)),
    }
    value = settings.get(name)
    if wanted is int and isinstance(value, float) and not value.is_integer():
        raise ConfigError(f"{name} ({value!r}) must be a whole number")
    try:
        return readers[wanted](name)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} ({value!r}) must be of type {wanted.__name__}") from error


def _as_setting(message: str) -> str:
    """Return the message on a field as one on its setting: each begins with the name."""
    name, rest = message.split(" ", 1)
    return f"{name if name.startswith(PREFIX) else PREFIX + name.upper()} {rest}"


def _refuse_unknown(names: Iterable[str]) -> None:
    known = setting_names()
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
            raise ConfigError(f"{name} is no setting of dedup; {hint}")
