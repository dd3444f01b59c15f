"""The bestmix command."""
