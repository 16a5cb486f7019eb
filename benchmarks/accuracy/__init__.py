"""Which pages does a recipe drop, and is that right?  Labelled pairs, peers, tables and plots.

    python -m benchmarks.accuracy DATA_FOLDER                       # the default with four hash seeds
    python -m benchmarks.accuracy DATA_FOLDER --recipe all --peers --docs docs/

DATA_FOLDER holds labelled sets.  Each is a folder with `pairs.csv` (a, b, label, group, jaccard) and the
pages that `a` and `b` name, in `html.tar.xz` or unpacked beside it.  Label 1: a crawler should keep one
of the two pages.  Label 0: it must keep both.  No label: the pair is grey; its drop rate is reported, but
not scored.

Peers and plots need `pip install --group bench`.  Without it they are left out, and a message says so.
"""
