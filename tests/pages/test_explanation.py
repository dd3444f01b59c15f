import re

import pytest
from tests.pages.pages import HOSTILE, check_harmless, parse

from bestmix import Instance, explain
from bestmix.pages.explanation import explanation_page, save_explanation


@pytest.fixture(scope="module")
def explained():
    return explain(Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], arms=["a", "b", "c"]))


def test_it_has_the_text_and_the_figure(explained):
    page = explanation_page(explained, "A title")
    text = " ".join(parse(page).texts)
    for head, lines in list(explained.paragraphs().items())[1:]:
        assert head in text
        assert all(line in text for line in lines)
    assert page.count("<figure") == 1
    assert "var(--support)" in page[page.index("<figure") :]
    assert "<figure" not in explanation_page(explained, figure=False)
    assert not re.search(r'(src|href)="(?!#)', page)


def test_hostile_names_are_harmless():
    script, quotes, left, long, template = HOSTILE
    means = [[1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0]]
    explained = explain(Instance(*means, arms=[script, quotes, left], costs=[template]))
    check_harmless(explanation_page(explained, long, figure=False))
    assert "<script" not in explanation_page(explained)


def test_saved(tmp_path, explained):
    path = save_explanation(explained, tmp_path / "p.html", figure=False)
    assert path.read_text(encoding="utf-8") == explanation_page(explained, figure=False)
    with pytest.raises(ValueError, match=r"end in \.html"):
        save_explanation(explained, tmp_path / "p.txt")
