"""An index on PostgreSQL, for crawls on many machines."""
