"""What crawls do, once more, with the index on a server: all that `test_on_postgres` has not."""

from __future__ import annotations

import pytest

from tests.plugin.on_postgres import (
    cases,
    on_a_server,  # noqa: F401 - a fixture
)

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

globals().update(cases(in_short=False))
