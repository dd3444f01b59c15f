"""Figures are drawn off screen, and closed after each test."""

import matplotlib
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")
