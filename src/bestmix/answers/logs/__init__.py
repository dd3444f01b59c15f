"""Trials that were made already: logs in files and frames, tables of sums, and the queries that make these."""
