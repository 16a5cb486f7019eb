"""What a rule drops of whole sites, against what readers said of its drops, and which words are lost.

    python -m benchmarks.judged DATA_FOLDER            # tables to the terminal
    python -m benchmarks.judged DATA_FOLDER --write FILE

DATA_FOLDER has a folder `judged_sites`: whole sites as files, and pairs that somebody has read.
"""
