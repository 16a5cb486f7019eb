"""A spider that takes its requests from Redis."""

from collections.abc import Iterator
from typing import Any

import pytest

spiders = pytest.importorskip("scrapy_redis.spiders")


class QueueSpider(spiders.RedisSpider):  # type: ignore[misc, name-defined]
    name = "queue"
    redis_key = "queue:urls"
    max_idle_time = 1

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(response.css("a"), self.parse)
