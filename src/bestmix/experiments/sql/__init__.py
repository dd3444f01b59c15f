"""Experiments in a database: SQLite or PostgreSQL, the same calls on both."""
