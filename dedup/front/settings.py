"""The settings of dedup that are not part of its configuration: values, defaults, checks."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.index.address import shown_place
from dedup.reading.fields import FieldRule
from dedup.recipes.config import DedupConfig
from dedup.values.errors import ConfigError, shown

_CHOICES = {
    "source": ("item", "response"),
    "action": ("drop", "skip", "mark", "report"),
}


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
    changes_feed: str = ""
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
        shown_place(self.index)  # raises for an address that cannot be read

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
