"""Fingerprints on their way from one index to another: a stable format, and the merge."""
