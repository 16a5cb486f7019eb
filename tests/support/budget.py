"""How many examples a test gets: as many as it asks for in a search, a tenth of them in `make test`."""

from hypothesis import HealthCheck, Phase, settings


def examples(number: int) -> int:
    """Return how many examples a law that asks for *number* gets, see `tests/conftest.py`."""
    profile = settings.default
    assert profile is not None
    return max(1, number * (profile.max_examples if profile.max_examples >= 100 else 10) // 100)


def fault_budget(examples: int) -> settings:
    """Return the budget that finds a planted fault, the same each time and in every profile."""
    same = settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    quiet = settings(same, report_multiple_bugs=False, suppress_health_check=list(HealthCheck))
    return settings(quiet, phases=[Phase.generate])
