"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input.

`work` makes sightings in other processes, `adding` asks the index about them, `output` writes what was
kept.  Nothing is imported here: other processes need `work` alone, and start sooner without the index.
"""
