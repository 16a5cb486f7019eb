"""Which pages does a recipe drop, and should it have?  Labelled pairs, peers, tables and plots.

    python -m benchmarks.accuracy DATA_FOLDER                       # the default over four hash seeds
    python -m benchmarks.accuracy DATA_FOLDER --recipe all --peers --docs docs/

DATA_FOLDER holds labelled sets, each a folder with `pairs.csv` (a, b, label, group, jaccard) and the
pages that `a` and `b` name, in `html.tar.xz` or unpacked beside it.  Label 1: a crawler should keep
one of the two; 0: it must keep both; empty: grey, its drop rate is reported and not scored.

Peers and plots need `pip install --group bench`; without it they are left out, and it is said so.
"""
