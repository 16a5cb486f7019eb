"""Any value of any type in any settings: they are taken, or refused by the name of one of them."""

import json
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings

from dedup.model.errors import ConfigError
from dedup.plugin.addon import index_path, read_settings
from dedup.settings import DedupSettings, setting_names
from tests.support.budget import examples

NAMES = sorted(setting_names())
NUMBERS = [0, 1, 3, 9, 10**400, -(10**400), 0.5, 1e300, 10**5000]
TEXTS = ["\ud800", "\0", ".", "..", "a.b", "os.path", "json.dumps", "1e400", "9" * 5000, "[", "{}"]
WORDS = ["simhash", "both", "jieba", "murmur3", "true", "0.8", "url,title", "/dev/null/x", "x" * 300]
OTHERS = [Path("a"), Path("\0"), Decimal("NaN"), Fraction(1, 3), timedelta(1), object(), int, len]
short = st.text(max_size=3)
numbers = st.booleans() | st.integers() | st.floats() | st.complex_numbers()
texts = st.text(max_size=6) | st.binary(max_size=5)
scalars = st.none() | numbers | texts | st.sampled_from([*NUMBERS, *TEXTS, *WORDS, *OTHERS])
values = (
    scalars
    | st.lists(scalars, max_size=3)
    | st.tuples(scalars)
    | st.dictionaries(short, scalars, max_size=2)
    | st.frozensets(short, max_size=2)
    | st.recursive(st.none() | short, lambda inner: st.lists(inner, max_size=2)).map(json.dumps)
)


def outcome(given_settings: dict[str, Any]) -> tuple[str, DedupSettings | None]:
    try:
        return "", read_settings(Settings(given_settings))
    except ConfigError as error:
        return str(error), None


@given(st.dictionaries(st.sampled_from(NAMES), values, max_size=4))
@example({"DEDUP_MAX_DISTANCE": 10**400})
@example({"DEDUP_MAX_LOST_WORDS": 10**5000})
@example({"DEDUP_MAX_DISTANCE": float("inf")})
@settings(max_examples=examples(300))
def test_any_values_are_taken_or_refused_by_a_name(given_settings: dict[str, Any]) -> None:
    message, found = outcome(given_settings)
    if found is None:
        assert message.split(" ")[0].removesuffix(":") in NAMES
    else:
        assert isinstance(found, DedupSettings)
        assert isinstance(index_path(found), str)


@given(st.text(max_size=9).map(lambda text: f"DEDUP_{text}"), values)
@settings(max_examples=examples(50))
def test_an_unknown_name_is_refused(name: str, value: Any) -> None:
    if name not in NAMES:
        assert outcome({name: value})[0].startswith(name)
