"""Every answer is what the version before gave, byte for byte; only the last digits of figures may differ."""

import json
import re

from tests.service.recordings import FOLDER, answers

FIGURE = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def rounded(answer):
    """An answer with its figures to the fifth digit, which no processor and no order of summation changes."""
    *head, text = answer
    return [*head, FIGURE.sub(lambda found: f"{float(found[0]):.5g}", text)]


def test_answers_are_those_of_version_0_1():
    recorded = json.loads((FOLDER / "0.1.json").read_text())
    assert len(recorded) > 150
    found = answers([entry["request"] for entry in recorded])
    for entry, answer in zip(recorded, found, strict=True):
        assert rounded(answer) == rounded(entry["answer"]), entry["request"]
