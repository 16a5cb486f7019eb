"""What the plugin and the command line have in common: settings, and the summary of a run."""
