"""Arithmetic: arrays in, arrays out; no classes, no input or output."""
