"""From pages to fingerprints: what can be chosen, how it is computed, and what the literature says."""
