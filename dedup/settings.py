"""Settings by their names, read and checked in one place, for a project and for a command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from dedup.model.address import address_of, is_address
from dedup.model.errors import ConfigError, require_text, shown
from dedup.model.verdict import FATE_OF
from dedup.prints.fingerprinter import DedupConfig
from dedup.reading.fields import FieldRule

_CHOICES = {"source": ("item", "response"), "action": (*FATE_OF,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupSettings:
    """Where pages come from and what becomes of them; `docs/reference/settings.md` explains each."""

    index: str = field(default="dedup.db", repr=False)
    source: str = "item"
    text_fields: tuple[str, ...] = ()
    ignore: str = ""
    key_fields: tuple[str, ...] = ()
    action: str = "drop"
    rules: str = "propose"
    crawl: str = ""
    probes: int = 5
    config: DedupConfig = field(default_factory=DedupConfig)

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ConfigError(f"{name} ({shown(value)}) must be one of {', '.join(choices)}")
        if not (self.rules in ("off", "propose", "use") or self.obeys_file):
            raise ConfigError(f"rules ({shown(self.rules)}) must be off, propose, use, or a file .toml")
        if self.rules not in ("off", "propose") and self.action == "mark":
            raise ConfigError(
                f"rules ({shown(self.rules)}) cannot go with action ('mark'): a copy that is not "
                "fetched has no item to mark; use 'propose'"
            )
        if not 0 <= self.probes <= 100:
            raise ConfigError(
                f"probes ({shown(self.probes)}) must be 0 to 100, percent of the pages of a host"
            )
        if not self.index:
            raise ConfigError("index ('') must be the path of a file, or an address")
        # They raise for an address of another kind, or one that cannot be read.
        _ = is_address(self.index) and address_of(self.index)
        if "::" in self.ignore:
            raise ConfigError(f"ignore ({shown(self.ignore)}) must select elements")
        if self.ignore:
            from parsel import css2xpath  # most crawls and commands need none

            try:
                css2xpath(self.ignore)
            except Exception as error:  # cssselect and parsel raise their own
                why = f"ignore ({shown(self.ignore)}) must be a CSS selector: {error}"
                raise ConfigError(why) from error

    @property
    def fields(self) -> FieldRule:
        """Where an item's page is."""
        return FieldRule(text_fields=self.text_fields, key_fields=self.key_fields)

    @property
    def drops(self) -> bool:
        """Whether copies are not delivered."""
        return self.action in ("drop", "skip")

    @property
    def is_dry(self) -> bool:
        """Whether nothing becomes of copies but a report."""
        return self.action == "report"

    @property
    def skips_links(self) -> bool:
        """Whether the links of copies are not followed."""
        return self.action == "skip"

    @property
    def obeys_file(self) -> bool:
        """Whether `rules` is a file."""
        return self.rules.endswith(".toml")

    @property
    def judged(self) -> str:
        """What is judged, in words for the log."""
        if self.source == "response":
            return "pages by their response, other items by `html`"
        if self.text_fields:
            return f"items by {', '.join(f'`{name}`' for name in self.text_fields)}"
        return "items by `html`, if it is a whole page; others are not judged"


PREFIX = "DEDUP_"
INDEX = "DEDUP_INDEX"

_NEAR = 0.8  # how similar (0 to 1) a name must be to the one that was meant
_DERIVED = ("config", "store_first", "exceptions")  # what is no setting: it follows from others


def setting_of(field: str) -> str:
    """Return the name of the setting that a field of `DedupSettings` or `DedupConfig` is read from."""
    return PREFIX + field.upper()


def setting_names() -> dict[str, Any]:
    """Return the name of every setting with its default."""
    return {
        setting_of(choice.name): choice.default
        for kind in (DedupSettings, DedupConfig)
        for choice in fields(kind)
        if choice.name not in _DERIVED
    }


# Of so many pages, the first of a new file, the texts are kept where no setting says otherwise; of a
# dry run of all pages more are kept.
STORED, STORED_DRY = 500, 10_000


def read_settings(settings: Mapping[str, Any]) -> DedupSettings:
    """Return the settings of dedup among *settings*, those of a project or of a command line.

    Values may be text, as on a command line.  Raises `ConfigError` for a bad value or an unknown name.
    """
    known = setting_names()
    for name in settings:
        if name.startswith(PREFIX) and name not in known:
            near = get_close_matches(name, known, 1, _NEAR)
            off = "a spider is without dedup by ADDONS = {'dedup.plugin.Addon': None}"
            way_out = (
                f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}; {off}"
            )
            raise ConfigError(f"{name} is not a setting of dedup; {way_out}")
    of_config = {choice.name for choice in fields(DedupConfig)}
    try:
        found = {
            name.removeprefix(PREFIX).lower(): _read(name, settings[name], type(default))
            for name, default in known.items()
            if settings.get(name) is not None
        }
        if "store_pages" not in found:
            found["store_first"] = STORED_DRY if found.get("action") == "report" else STORED
        config = DedupConfig(**{name: found.pop(name) for name in of_config & found.keys()})
        return DedupSettings(config=config, **found)
    except ConfigError as error:
        field, rest = str(error).split(" ", 1)  # the message on a field begins with its name
        name = field if field.startswith(PREFIX) else setting_of(field)
        raise ConfigError(f"{name} {rest}") from None


def _read(name: str, value: Any, wanted: type) -> Any:
    if isinstance(value, str) and name != INDEX:  # that of a file may be of any bytes
        require_text(name, value)
    if wanted is int and isinstance(value, float) and not value.is_integer():
        raise ConfigError(f"{name} ({shown(value)}) must be a whole number")
    try:
        return _READERS[wanted](value)
    except ConfigError:
        raise
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        kind = "list" if wanted is tuple else wanted.__name__
        raise ConfigError(f"{name} ({shown(value)}) must be of type {kind}") from error


def _members(value: Any) -> tuple[Any, ...]:
    """Return the members of a list, or of a text: with commas, as Scrapy reads lists.

    What stands in `settings.py` may also come from a command line as it is, or without its quotes.

    >>> _members("title, text"), _members('["title", "text"]'), _members("('title', text,)")
    (('title', 'text'), ('title', 'text'), ('title', 'text'))
    """
    if isinstance(value, Mapping) or str(value).startswith("{"):
        raise TypeError
    if not isinstance(value, str):
        return tuple(one.strip() if isinstance(one, str) else one for one in value)
    members = (one.strip(" \t\n[]()'\"") for one in value.split(","))
    return tuple(filter(None, members))


_READERS: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: {"true": True, "1": True, "false": False, "0": False}[str(value).lower()],
    int: int,
    str: str,
    tuple: lambda value: _members(value) if value else (),
}
