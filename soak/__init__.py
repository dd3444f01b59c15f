"""Experiments under load and faults: real workers, real kills, a checker of what was promised."""
