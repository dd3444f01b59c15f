from dataclasses import replace
from html.parser import HTMLParser

from tests.answers.kits import answer

from bestmix import Spend
from bestmix.answers.account import Account


class Tags(HTMLParser):
    """Tags that are open, the paragraphs, and the rows of the table."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.said, self.rows = [], set(), [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "p":
            self.said.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "p":
            self.said[-1] += data
        else:
            self.rows[-1][-1] += data


def test_a_notebook_shows_the_sentence_and_the_table():
    rec = answer(names=("<b>&", 'say "x"'))
    tags = Tags(rec._repr_html_())
    assert tags.seen == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags.said == [rec.sentence()]
    assert tags.rows == rec.rows()


def test_money_and_items_are_told_below_the_table():
    rec = replace(answer(), account=Account(Spend(200.0, "<dollars>"), 203.0, {}), items=12)
    tags = Tags(rec._repr_html_())
    assert tags.said == [
        rec.sentence(),
        rec.account.sentence(),
        "Arms are compared on the items that they share; 12 were used.",
    ]


def test_quotes_are_written_as_ever():
    page = answer(names=("it's", 'say "x"'))._repr_html_()
    assert "<td>it&#x27;s</td>" in page
    assert "<td>say &quot;x&quot;</td>" in page
