"""For pytest: examples that are the same in each run, no time for smaller ones, no more memory than there is.

A mutant is killed by the first example that fails, however long; one that grows without end shall not
take the machine with it.
"""

from __future__ import annotations

import resource

import pytest
from hypothesis import HealthCheck, Phase, settings

MEMORY = 8 * 2**30


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Choose what a test is given after the project's own choices, which its conftest.py makes."""
    settings.register_profile(
        "hasty",
        settings(),
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("hasty")
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))
