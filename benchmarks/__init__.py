"""Measurements: these commands print the figures of the README and the docs."""
