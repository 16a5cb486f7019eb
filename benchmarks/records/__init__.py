"""Made-up records, noise, edits and series through the default rule: what is lost, which copies are kept.

Truth is by construction.  `python -m benchmarks.records --help`.
"""
