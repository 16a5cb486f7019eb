"""Which tests a change of a module is to fail, and which changes no test can notice.

The first pattern that fits a module counts; a module that none fits, or one without tests, is not changed:
the doors (plugin, cli, serve) are tested by whole crawls and commands, which take too long.  Doctests of the
module are run as well.  Tests stand in the order in which they are run, the quick and near ones first; all
together should take less than a minute.
"""

from __future__ import annotations

_INDEX, _RULE = "tests/dedup/index", "tests/dedup/rule"
_PAGES = (
    *("tests/dedup/test_page.py", "tests/dedup/test_broken_pages.py", "tests/dedup/test_odd_pages.py"),
    *("tests/dedup/test_limits.py", "tests/dedup/test_languages.py", "tests/dedup/test_fingerprints.py"),
)
_RECIPES = ("tests/dedup/test_fingerprints.py", "tests/dedup/test_choices.py")
_LISTS = (f"{_INDEX}/test_postings.py", f"{_INDEX}/test_bands.py", f"{_INDEX}/test_blocks.py")
# What the index answers, in the order of how soon a mistake shows.
_ANSWERS = (
    *(f"{_INDEX}/test_find_or_add.py", f"{_INDEX}/test_crawls.py", f"{_INDEX}/test_versions.py"),
    *(f"{_INDEX}/test_nearest.py", f"{_INDEX}/test_canonical_links.py"),
    *(f"{_INDEX}/test_runs.py", f"{_INDEX}/test_reading.py", f"{_INDEX}/test_glances.py"),
    *(f"{_INDEX}/test_parser.py", f"{_INDEX}/test_stored_pages.py"),
    *(f"{_INDEX}/test_claims.py", f"{_INDEX}/test_stores.py"),
)
_FILE = (
    *(f"{_INDEX}/test_files.py", f"{_INDEX}/test_columns.py", f"{_INDEX}/test_read_only.py"),
    *(f"{_INDEX}/test_migrations.py", f"{_INDEX}/test_opening.py", f"{_INDEX}/test_durability.py"),
    *(f"{_INDEX}/test_secrets.py", f"{_INDEX}/test_planted_faults.py"),
)
_LAWS = f"{_INDEX}/test_laws.py"

TESTS: dict[str, tuple[str, ...]] = {
    # Values
    "dedup/values/simhashes.py": ("tests/dedup/test_words.py", "tests/dedup/test_simhashing.py"),
    "dedup/values/hashes.py": (
        *("tests/dedup/test_simhashing.py", "tests/dedup/test_sketch.py"),
        *_RECIPES,
    ),
    "dedup/values/printable.py": ("tests/dedup/test_printable.py",),
    "dedup/values/urls.py": ("tests/dedup/test_urls.py", "tests/dedup/test_scope.py", *_ANSWERS),
    "dedup/values/scope.py": ("tests/dedup/test_scope.py",),
    "dedup/values/*.py": (f"{_INDEX}/test_sighting.py", _RULE, *_ANSWERS, _LAWS),
    # Pages
    "dedup/reading/page.py": (*_PAGES, "tests/dedup/test_stored.py", "tests/plugin/test_pages.py"),
    "dedup/reading/walk.py": (*_PAGES, "tests/dedup/test_structure.py"),
    "dedup/reading/stored.py": ("tests/dedup/test_stored.py", f"{_INDEX}/test_stored_pages.py"),
    "dedup/reading/tokens.py": (
        *("tests/dedup/test_tokens.py", "tests/dedup/test_languages.py"),
        *_RECIPES,
    ),
    "dedup/reading/dictionary.py": (*_RECIPES, "tests/dedup/test_tokens.py"),
    "dedup/reading/fields.py": (
        *("tests/feeds", "tests/plugin/test_pages.py", "tests/plugin/test_settings.py"),
    ),
    "dedup/reading/sighting.py": (f"{_INDEX}/test_sighting.py", f"{_INDEX}/test_find_or_add.py"),
    "dedup/reading/*.py": _PAGES,
    # Recipes
    "dedup/recipes/config.py": ("tests/dedup/test_config.py", *_RECIPES, f"{_INDEX}/test_files.py"),
    "dedup/recipes/terms.py": ("tests/dedup/test_terms.py", *_RECIPES),
    "dedup/recipes/weights.py": ("tests/dedup/test_terms.py", *_RECIPES),
    "dedup/recipes/structure.py": ("tests/dedup/test_structure.py", *_RECIPES),
    "dedup/recipes/simhash.py": ("tests/dedup/test_simhashing.py", *_RECIPES),
    "dedup/recipes/sketch.py": ("tests/dedup/test_sketch.py", *_RECIPES),
    "dedup/recipes/bands.py": ("tests/dedup/test_minhash.py", f"{_INDEX}/test_bands.py"),
    "dedup/recipes/*.py": (*_RECIPES, "tests/dedup/test_config.py", "tests/plugin/test_settings.py"),
    # The algorithms of the literature
    "dedup/algorithms/blocks.py": _LISTS,
    "dedup/algorithms/pairs.py": _LISTS,
    "dedup/algorithms/minhash.py": ("tests/dedup/test_minhash.py",),
    "dedup/algorithms/structure.py": ("tests/dedup/test_structure.py", *_RECIPES),
    "dedup/algorithms/*.py": (
        *("tests/dedup/test_terms.py", "tests/dedup/test_simhashing.py"),
        *_RECIPES,
    ),
    # The rule
    "dedup/rule/*.py": (_RULE, *_ANSWERS, f"{_INDEX}/test_bands.py", _LAWS),
    # The index
    "dedup/index/bands.py": (*_LISTS, *_ANSWERS, _LAWS),
    "dedup/index/chunks.py": (*_LISTS, _LAWS),
    "dedup/index/postings.py": (*_LISTS, _LAWS),
    "dedup/index/database.py": (*_FILE, *_ANSWERS),
    "dedup/index/database_files.py": (*_FILE, "tests/dedup/test_outputs.py"),
    "dedup/index/schema.py": (*_FILE, *_ANSWERS),
    "dedup/index/*.py": (*_ANSWERS, f"{_INDEX}/test_bands.py", *_FILE, _LAWS),
    # Files
    "dedup/files/outputs.py": ("tests/dedup/test_outputs.py", "tests/adding"),
    "dedup/files/feeds/*.py": ("tests/feeds", "tests/adding"),
    "dedup/files/adding/*.py": ("tests/adding",),
    "dedup/files/exchange/*.py": ("tests/dedup/exchange", "tests/cli/test_exchange.py"),
    # Reports: what they say, not how they look
    "dedup/report/html.py": (),
    "dedup/report/charts.py": (),
    "dedup/report/*.py": (
        *("tests/report/test_clusters.py", "tests/report/test_diff.py", "tests/report/test_overview.py"),
        *("tests/report/test_explanation.py", "tests/report/test_export.py"),
        *("tests/report/test_replay.py", "tests/report/test_cli.py", "tests/report/test_looking.py"),
        *("tests/report/test_html.py", "tests/report/test_agreement.py"),
    ),
}

# Changes that no test can notice, as "module: line" (all changes of such a line) or
# "module: line -> changed line", and why.  Lines as in the output: white space is one space.
EQUIVALENT: dict[str, str] = {}
