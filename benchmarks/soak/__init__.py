"""A million generated pages through real crawls."""
