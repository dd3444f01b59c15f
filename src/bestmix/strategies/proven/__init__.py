"""Stops by a theorem: when a mix is good enough, and when the support is certain."""
