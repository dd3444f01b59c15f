from html.parser import HTMLParser

from tests.answers.kits import answer


def test_the_sentence_says_what_to_do():
    text = answer().sentence()
    assert text.startswith("Mix 50% a with 50% b: estimated reward 2.0")
    assert "dollars at its bound" in text
    assert text.endswith("chance that this support is right above 99%.")
    assert answer(reward=(3.0, 1.0)).sentence().startswith("Use a: estimated reward 3.0")
    assert "dollars 1 below its bound" in answer(reward=(3.0, 1.0)).sentence()


class Tags(HTMLParser):
    """Tags that are open, and the cells of the table."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.seen = [], 0, set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        self.cells += tag in ("td", "th")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_text_and_html_show_the_same_table():
    names = ("<b>&", 'say "x"')
    found = answer(names=names)
    text = str(found)
    for row in found.rows():
        for cell in row:
            assert cell in text
    tags = Tags()
    tags.feed(found._repr_html_())
    assert tags.open == []
    assert "b" not in tags.seen
    assert tags.cells == sum(len(row) for row in found.rows())
    assert "1% more of the limit on dollars (1 -> 1.01) would add 0.01 to the reward." in text
