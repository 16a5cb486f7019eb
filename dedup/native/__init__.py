"""The compiled modules: pages to fingerprints, and the search for near ones."""

from dedup.native.sources import require

for _module in ("_pages", "_search"):
    require(_module)
