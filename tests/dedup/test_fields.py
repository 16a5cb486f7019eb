from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from itemadapter import ItemAdapter

from dedup.reading.fields import item_key


def key(value: Any) -> str:
    return item_key(ItemAdapter({"sku": value}), ["sku"])


@pytest.mark.parametrize("parts", [(1, "a", 2.5), ("b", 3, None), (("x", 1), "x", 1)])
def test_the_key_of_a_set_does_not_depend_on_its_order(parts: tuple[Any, ...]) -> None:
    assert len({key(set(order)) for order in permutations(parts)}) == 1
    assert len({key(dict.fromkeys(order, 1)) for order in permutations(parts)}) == 1


def test_the_order_of_a_list_is_part_of_its_key() -> None:
    assert key([1, 2]) != key([2, 1])
