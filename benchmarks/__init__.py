"""Measurements: what a figure in the README or the docs was printed by."""
