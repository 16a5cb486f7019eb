"""A long life of an index in short: a million generated pages through real crawls."""
