"""All `DEDUP_` settings of a Scrapy project, read and checked in one place."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object
from scrapy.utils.project import data_path

from dedup.reading.fields import FieldRule
from dedup.reading.page import Page
from dedup.recipes.config import DedupConfig
from dedup.values.errors import ConfigError, shown

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PageFromItem = Callable[[Any], Page | None]

PREFIX = "DEDUP_"
# What other programs call what ours are for.
_MEANT = {
    "THRESHOLD": ("MIN_SIMILARITY", "MAX_DISTANCE"),
    "CUTOFF": ("MIN_SIMILARITY", "MAX_DISTANCE"),
    "TOLERANCE": ("MAX_DISTANCE", "MIN_SIMILARITY"),
    "JACCARD": ("MIN_SIMILARITY",),
    "HAMMING": ("MAX_DISTANCE",),
    "DB": ("INDEX",),
    "DATABASE": ("INDEX",),
}
# So like each other (0 to 1) are a name and the one that was meant.
_NEAR = 0.8
_CHOICES = {
    "source": ("item", "response"),
    "action": ("drop", "mark"),
    "skip": ("nothing", "links", "callback"),
}


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
    """The field of an item that holds its URL; an item without one has that of its response."""
    key_fields: tuple[str, ...] = ()
    """The fields that tell items apart: items that differ in one of them are never copies of each other,
    and the same key in a later crawl is the same item, whatever its URL."""
    page_from_item: PageFromItem | None = field(default=None, repr=False)
    """A function, or its dotted path, that makes the page of an item, None for one not to judge."""
    action: str = "drop"
    """What becomes of a copy: `drop` it, or `mark` it with what it repeats and let it go on."""
    mark_prefix: str = "dedup_"
    """What the names of the fields begin with that `mark` fills."""
    item_classes: tuple[Any, ...] = ()
    """Classes of items, or their dotted paths, whose fields are checked at start for `mark`."""
    dry_run: bool = False
    """Judge, record and report, but let every item and request go on as it is."""
    wait: float = 30.0
    """How many seconds a copy waits for the fate of the item that it repeats."""
    skip: str = "nothing"
    """What is skipped of a response that is a copy: `nothing`, the `links` that its callback gives,
    or the whole `callback`; unless `nothing`, responses are judged before their callback."""
    min_depth: int = 1
    """Of responses at less depth than this (start pages are at 0) nothing is skipped."""
    exploration_share: float = 0.05
    """The share (0 to 1) of copies of which nothing is skipped all the same."""
    cluster_share: float = 0.2
    """The log warns when copies of one page are more than this share (0 to 1) of a host's pages."""
    crawl: str = ""
    """The name of a crawl that several processes work at, one after the other or at the same time; all
    that share a name are one crawl."""
    dropped_feed: str = ""
    """Where dropped items are written, whole, with what they repeat: as Scrapy's option ``-o``."""
    config: DedupConfig = field(default_factory=DedupConfig)

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ConfigError(f"{name} ({shown(value)}) must be one of {', '.join(choices)}")
        for name, rule in (("wait", "0 seconds or more"), ("min_depth", "0 or more")):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} ({shown(getattr(self, name))}) must be {rule}")
        for name in ("exploration_share", "cluster_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} ({shown(getattr(self, name))}) must be 0 to 1")
        if self.key_fields and self.skip == "callback":
            raise ConfigError(
                f"key_fields ({', '.join(map(str, self.key_fields))}) cannot go with skip ('callback'): "
                "responses are judged before an item has a key; use 'links' or 'nothing'"
            )
        if not self.index:
            raise ConfigError("index ('') must be the path of a file")
        if not self.mark_prefix.isidentifier():
            raise ConfigError(f"mark_prefix ({shown(self.mark_prefix)}) must be the beginning of a name")

    @property
    def fields(self) -> FieldRule:
        """Where an item's page is."""
        return FieldRule(
            html_field=self.html_field,
            text_fields=self.text_fields,
            url_field=self.url_field,
            key_fields=self.key_fields,
        )

    @property
    def judged(self) -> str:
        """What is judged, for people."""
        if self.source == "response":
            return "pages by their response, other items by `html`"
        if self.page_from_item:
            return "items by DEDUP_PAGE_FROM_ITEM"
        if self.html_field:
            return f"items by `{self.html_field}`; items without it are not judged"
        if self.text_fields:
            return f"items by {', '.join(f'`{name}`' for name in self.text_fields)}"
        return "items by `html`; items without it are not judged"

    @property
    def index_path(self) -> str:
        """Where the index is: a relative path is in the project's folder for data, or in ``.scrapy``."""
        try:
            return data_path(self.index)
        except NotConfigured:  # SCRAPY_SETTINGS_MODULE names a project that has no scrapy.cfg here
            return str(Path(".scrapy", self.index))


def read_settings(settings: BaseSettings) -> PluginSettings:
    """Return the plugin's settings; raises `ConfigError` for a bad value or an unknown name."""
    _refuse_unknown([name for name in settings if isinstance(name, str)])
    _refuse_unknown(_left_out(settings))
    try:
        config = DedupConfig(**_values(settings, DedupConfig))
        return PluginSettings(config=config, **_values(settings, PluginSettings))
    except ConfigError as error:
        raise ConfigError(_as_setting(str(error))) from None


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
        tuple: lambda name: tuple(map(_stripped, settings.getlist(name))),
    }
    value = settings.get(name)
    if wanted is NoneType:
        return _loaded(name, value)
    if wanted is int and isinstance(value, float) and not value.is_integer():
        raise ConfigError(f"{name} ({shown(value)}) must be a whole number")
    try:
        return readers[wanted](name)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ConfigError(f"{name} ({shown(value)}) must be of type {wanted.__name__}") from error


def _stripped(value: Any) -> Any:
    """Return a text without the white space around it: "title, text" is two names."""
    return value.strip() if isinstance(value, str) else value


def _loaded(name: str, value: Any) -> Any:
    """Return the function that *value* is, or that it is the dotted path of."""
    try:
        found = load_object(value)
    except (ImportError, NameError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{name} ({shown(value)}) must be a function or its dotted path: {error}"
        ) from error
    if not callable(found):
        raise ConfigError(f"{name} ({shown(value)}) must be a function or its dotted path")
    return found


def _as_setting(message: str) -> str:
    """Return the message on a field as one on its setting: each begins with the name."""
    name, rest = message.split(" ", 1)
    return f"{name if name.startswith(PREFIX) else PREFIX + name.upper()} {rest}"


def _left_out(settings: BaseSettings) -> list[str]:
    """Return our names in small letters in the module of the project, which Scrapy passes over."""
    module = sys.modules.get(os.environ.get("SCRAPY_SETTINGS_MODULE", ""))
    names = [name for name, value in vars(module).items() if not callable(value)] if module else []
    return [
        name
        for name in names
        if name not in settings and _plain(name) in setting_names() and _plain(name) not in settings
    ]


def _refuse_unknown(names: Iterable[str]) -> None:
    """Raise `ConfigError` for names that begin as ours do and are none, or are near one in another form.

    Others are left alone: they may be of a package whose settings begin with DEDUPE.
    """
    known = setting_names()
    rests = [name.removeprefix(PREFIX) for name in known]
    for name in names:
        plain = _plain(name)
        if name in known or not plain.startswith(PREFIX):
            continue
        rest = plain.removeprefix(PREFIX)
        near = get_close_matches(rest, rests, 1, _NEAR)
        if near or name.startswith(PREFIX):
            found = [PREFIX + one for one in near or _meant(rest) or get_close_matches(rest, rests, 1)]
            hint = " or ".join(found)
            hint = f"did you mean {hint}?" if hint else f"known are {', '.join(sorted(known))}"
            raise ConfigError(f"{name} is no setting of dedup; {hint}")


def _plain(name: str) -> str:
    """Return *name* in capitals, with the beginning that ours have.

    >>> _plain("dedupe-scope")
    'DEDUP_SCOPE'
    """
    return re.sub(r"^DEDUPE?_", PREFIX, name.upper().replace("-", "_"))


def _meant(rest: str) -> list[str]:
    """Return which settings a name without prefix may mean by its words.

    >>> _meant("TRESHOLD"), _meant("SIMILARITY_THRESHOLD")
    (['MIN_SIMILARITY', 'MAX_DISTANCE'], ['MIN_SIMILARITY'])
    """
    parts = rest.split("_")
    words = [word for part in parts for word in get_close_matches(part, _MEANT, 1, _NEAR)]
    found = list(dict.fromkeys(name for word in words for name in _MEANT[word]))
    return [name for name in found if set(name.split("_")) & set(parts)] or found
