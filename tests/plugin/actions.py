"""Spiders and items for the tests on marking, dry runs and pages of one's own."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any

from scrapy import Field, Item

from dedup import Page
from tests.plugin.spiders import ItemSpider, WithMarks


class Plain(Item):
    url = Field()
    text = Field()


class Marked(Plain, WithMarks):
    """One that has room for the marks."""


@dataclass
class MarkedData:
    url: str
    text: str
    dedup_reason: str | None = None
    dedup_canonical_url: str | None = None
    dedup_content_distance: int | None = None
    dedup_structure_distance: int | None = None
    dedup_similarity: float | None = None
    dedup_lost: int | None = None


Frozen = make_dataclass(
    "Frozen", [(f.name, f.type, field(default=f.default)) for f in fields(MarkedData)], frozen=True
)


class Odd:
    """An item of a kind that Scrapy does not know."""

    def __init__(self, url: str, text: str) -> None:
        self.url, self.text = url, text


CLASSES: dict[str, Any] = {
    kind.__name__: kind for kind in (Odd, dict, Plain, Marked, MarkedData, Frozen)
}


class TypedSpider(ItemSpider):
    """Yields the items that *items* lists as objects of the class named *type*."""

    name = "typed"
    type = "dict"

    def found(self) -> Iterator[Any]:
        for item in super().found():
            yield CLASSES[self.type](**item)


class OddSpider(TypedSpider):
    """Makes pages of items that have no fields."""

    name = "odd"

    def dedup_page_from_item(self, item: Any) -> Page:
        return Page.from_text(item.text, url=item.url)
