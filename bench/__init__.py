"""Benchmarks: ratios of two things timed in turns, within one run of one machine."""
