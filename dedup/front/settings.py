"""The settings of dedup that are not part of its configuration: values, defaults, checks."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.index.index import shown_place
from dedup.reading.fields import FieldRule
from dedup.recipes.config import DedupConfig
from dedup.values.errors import ConfigError, shown

_CHOICES = {
    "source": ("item", "response"),
    "action": ("drop", "mark"),
    "skip": ("nothing", "links", "callback"),
    "rules": ("off", "learn", "use"),
    "unavailable": ("keep", "wait", "stop"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupSettings:
    """Where pages come from and what becomes of them."""

    index: str = field(default="dedup.db", repr=False)
    """Path of the index; a relative one is inside the data directory of the Scrapy project,
    ``.scrapy``.  Or the address of a PostgreSQL server, ``postgresql://user@host/database``."""
    source: str = "item"
    """What is judged: the `item`, or the `response` that gave it, where it gave no other item."""
    html_field: str = ""
    """The field of an item that holds its HTML."""
    text_fields: tuple[str, ...] = ()
    """The fields of an item that hold its text."""
    content: str = ""
    """A CSS selector of the part of a page that is judged; a page without it is judged as a whole."""
    ignore: str = ""
    """A CSS selector of parts of pages that are not judged: counters, quotes, clocks."""
    url_field: str = "url"
    """The field of an item that holds its URL; an item without one has that of its response."""
    key_fields: tuple[str, ...] = ()
    """The fields that tell items apart: items that differ in one of them are never copies of each other,
    and the same key in a later crawl is the same item, whatever its URL."""
    action: str = "drop"
    """What becomes of a copy: `drop` it, or `mark` it with what it repeats and let it go on."""
    dry_run: bool = False
    """Judge, record and report, but neither drop, mark nor skip anything.  A number, two or more, is for
    the first pages of an index: until it has so many nothing is dropped, and from then on copies are."""
    unavailable: str = "keep"
    """What a crawl does while a server that has the index does not answer: `keep` pages without judging
    them, `wait` for it, or `stop`."""
    skip: str = "nothing"
    """What is skipped of a response that is a copy: `nothing`, the `links` that its callback gives,
    or the whole `callback`; unless `nothing`, responses are judged before their callback.  Of start
    pages nothing is skipped."""
    rules: str = "learn"
    """What becomes of rules for URLs: `learn` them from the pages that are judged and test them, which
    changes nothing, `use` them too and withhold requests for copies, or `off`."""
    follow: tuple[str, ...] = ()
    """Patterns of addresses that are visited though nothing new comes from others like them; for
    `dedup.plugin.BudgetMiddleware`."""
    crawl: str = ""
    """The name of a crawl that several processes share, at the same time or one after the other."""
    dropped_feed: str = ""
    """The URI of a feed for dropped items, with what they repeat; as for Scrapy's option ``-o``."""
    config: DedupConfig = field(default_factory=DedupConfig)

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ConfigError(f"{name} ({shown(value)}) must be one of {', '.join(choices)}")
        if self.key_fields and self.skip == "callback":
            raise ConfigError(
                f"key_fields ({', '.join(map(str, self.key_fields))}) cannot go with skip ('callback'): "
                "responses are judged before an item has a key; use 'links' or 'nothing'"
            )
        if self.rules == "use" and self.action == "mark":
            raise ConfigError(
                "rules ('use') cannot go with action ('mark'): a copy that is not fetched has no item "
                "to mark; use 'learn'"
            )
        if not self.index:
            raise ConfigError("index ('') must be the path of a file, or an address")
        shown_place(self.index)  # raises for an address that cannot be read

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
    def judges_html(self) -> bool:
        """Whether an item may be judged by HTML that it holds."""
        return bool(self.html_field) or not self.text_fields

    @property
    def judged(self) -> str:
        """What is judged, in words for the log."""
        if self.source == "response":
            return "pages by their response, other items by `html`"
        if self.html_field:
            return f"items by `{self.html_field}`; items without it are not judged"
        if self.text_fields:
            return f"items by {', '.join(f'`{name}`' for name in self.text_fields)}"
        return "items by `html`; items without it are not judged"
