"""A spider that fills one item again and again loses nothing by what waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Field, Item, Request, Spider, version_info
from scrapy.http import Response

from tests.crawling import crawl
from tests.pages import text


class Story(Item):
    url = Field()
    text = Field()


class OneItem(Spider):
    """Fills the same item in all callbacks."""

    name = "one_item"
    made = "dict"

    async def start(self) -> AsyncIterator[Any]:
        self.item: Any = Story() if self.made == "Item" else {}
        for number in range(20):
            yield Request(f"data:,{number}", cb_kwargs={"number": number})

    def parse(self, response: Response, number: int) -> Iterator[Any]:
        self.item["url"] = f"http://a.example/{number}"
        self.item["text"] = text(number)
        yield self.item


# Scrapy 2.13 gives items to pipelines later: a spider loses texts in this way without us, too.
@pytest.mark.skipif(version_info < (2, 14), reason="Scrapy 2.13 loses texts by itself")
@pytest.mark.parametrize("made", ["dict", "Item"])
def test_one_item_filled_by_all_callbacks_gives_all_texts(tmp_path: Path, made: str) -> None:
    settings = {"DEDUP_TEXT_FIELDS": ["text"]}
    done = crawl(tmp_path, "tests.plugin.test_shared_item.OneItem", settings, {"made": made})
    assert sorted(item["text"] for item in done.items) == sorted(map(text, range(20)))
    assert done.dedup()["kept"] == 20
