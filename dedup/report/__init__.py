"""What was dropped, against which page, and why."""
