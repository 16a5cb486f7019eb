"""What rules for URLs save on real web programs, which run here on real content, and what they lose."""
