"""What the tests of pages share: hostile names, and a parser that wants every tag closed."""

from html.parser import HTMLParser

SCRIPT = "<script>alert('&')</script>"
QUOTES = '"\'` onload=alert(1) x="'
RIGHT_TO_LEFT = "\u202eevil\u05d0\u05d1"
LONG = "long" * 40
TEMPLATE = "{{ 7 * 7 }}{% raw %}"
NAME = SCRIPT.replace("/", "")  # of an experiment: no slash is allowed there
HOSTILE = (SCRIPT, QUOTES, RIGHT_TO_LEFT, LONG, TEMPLATE)


class Tags(HTMLParser):
    """Collects the tags, and fails on one that is closed without having been opened."""

    EMPTY = ("meta", "link", "input")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.texts = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["script"]):
            self.texts.append(data)


def parse(page):
    """The page's parser, once everything that was opened is closed again."""
    parser = Tags()
    parser.feed(page)
    assert parser.open == []
    return parser


def check_harmless(page, names=HOSTILE):
    """Names are text and nothing else: no tag, no attribute, no expression comes of them."""
    parser = parse(page)
    text = "".join(parser.texts)
    assert "\u202e" not in text
    for name in names:
        assert name.replace("\u202e", "") in text
    for tag, attributes in parser.seen:
        assert tag != "script" or attributes.get("type") == "application/json" or "src" in attributes
        assert not any(attribute.startswith("on") for attribute in attributes)
    assert "<script>alert" not in page
    return parser
