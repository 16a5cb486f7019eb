"""What callbacks give, whatever kind of functions they are."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from inspect import isawaitable
from typing import Any

from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import arg_to_iter
from twisted.internet.defer import Deferred


async def outputs_of(result: Any) -> AsyncIterator[Any]:
    """Yield all that a callback gives, whatever kind of function it is."""
    if isinstance(result, Deferred):
        result = maybe_deferred_to_future(result)
    if isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterable):
        async for output in result:
            yield output
    else:
        for output in arg_to_iter(result):
            yield output


async def begun(result: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Let *result* come to its first output, or its end; return all of it."""
    outputs = aiter(result)
    first = []
    with suppress(StopAsyncIteration):
        first.append(await anext(outputs))
    return _chained(first, outputs)


async def _chained(first: list[Any], outputs: AsyncIterator[Any]) -> AsyncIterator[Any]:
    for output in first:
        yield output
    async for output in outputs:
        yield output
