"""From pages to fingerprints: what can be chosen, and how it is computed."""
