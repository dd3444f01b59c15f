"""The words of limits and goals: names, numbers and the mark under the place where a text goes wrong."""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from bestmix import checks

KEYWORDS = ("share", "p", "in", "maximise", "minimise", "maximize", "minimize")
PLAIN_DIGITS = 16  # a number with more of them before or behind its point is written with an exponent
WIDEST_LINE = 70  # characters of a text that an error shows around the place

_BARE = re.compile(r"[^\W\d][\w.:@-]*")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_NUMBER = re.compile(r"([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++))(?:[eE]([+-]?[0-9]{1,5}))?(?![\w.])\s*(%?)")
_OPERATOR = re.compile(r"<=|>=|==|=<|=>|[<>=≤≥/*()]")
_SPELLING = {"≤": "<=", "≥": ">=", "=<": "<=", "=>": ">=", "==": "="}
_SPACE = re.compile(r"\s*")


class Reader:
    """A text and the place up to which it was read; every failure shows both.

    >>> reader = Reader("limit", "dollars <= 5%")
    >>> reader.name("a metric"), reader.operator("<=", ">="), reader.number()
    ('dollars', '<=', 0.05)
    >>> reader.at_end
    True
    """

    def __init__(self, what: str, text: object) -> None:
        if not isinstance(text, str):
            raise checks.InvalidInput(what, expected="a text", got=checks.shown(text), remedy="write it in quotes")
        self.what, self.text, self.place = what, text, 0
        self._skip()

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.place == len(self.text)

    def name(self, what: str) -> str:
        """The next name, bare or in quotes."""
        start = self.place
        if found := self._take(_QUOTED):
            name = re.sub(r"\\(.)", r"\1", found[1:-1], flags=re.DOTALL)
            if not name.strip() or checks.unprintable(name) or checks.unencodable(name):
                raise self.error("a name of printable characters", start)
            return name
        if self.text[start : start + 1] in ("'", '"'):
            raise self.error("a second quotation mark at the end of the name")
        word = self.peek_word()
        if word is None or word.casefold() in KEYWORDS:
            remedy = "" if word is None else f' (if it is called so: "{word}", in quotes)'
            raise self.error(f"the name of {what}{remedy}")
        return self._take(_BARE) or ""

    def peek_word(self) -> str | None:
        """The bare word that comes next, left where it is."""
        found = _BARE.match(self.text, self.place)
        return found.group() if found else None

    def word(self, *words: str) -> str | None:
        """The next bare word if it is one of these, in any case of letters."""
        found = self.peek_word()
        if found is None or found.casefold() not in words:
            return None
        self._take(_BARE)
        return found.casefold()

    def call(self, *functions: str) -> str | None:
        """The name of the function that opens here, as ``share`` in ``share(``; its bracket is read too."""
        found = self.peek_word()
        if found is None or found.casefold() not in functions:
            return None
        self._take(_BARE)
        if self.optional_operator("(") is None:
            raise self.error(f'( after {found} (a metric that is called so is written "{found}", in quotes)')
        return found.casefold()

    def operator(self, *wanted: str) -> str:
        """The next operator, which must be one of these."""
        found = self.optional_operator(*wanted)
        if found is None:
            name = self.peek_word() is not None and self.place > 0
            raise self.error(_listed(wanted) + " (a name with spaces is written in quotes)" * name)
        return found

    def optional_operator(self, *wanted: str) -> str | None:
        """The next operator if it is one of these."""
        found = _OPERATOR.match(self.text, self.place)
        operator = _SPELLING.get(found.group(), found.group()) if found else None
        if operator not in wanted:
            return None
        self._take(_OPERATOR)
        return operator

    def number(self) -> float:
        """The next number, plain or in percent."""
        start = self.place
        value = self.optional_number()
        if value is None:
            raise self.error("a number", start)
        return value

    def optional_number(self) -> float | None:
        """The next number, if one comes next."""
        start, found = self.place, _NUMBER.match(self.text, self.place)
        if found is None:
            return None
        # A percentage moves the exponent: dividing by a hundred would round a second time.
        mantissa, exponent, percent = found.groups()
        value = float(f"{mantissa}e{int(exponent or 0) - (2 if percent else 0)}")
        if not abs(value) <= checks.LARGEST:
            raise self.error(f"a number up to {checks.LARGEST:g}", start)
        self._take(_NUMBER)
        return value

    def finish(self, what: str) -> None:
        """Fail unless everything was read."""
        if not self.at_end:
            raise self.error(what)

    def error(self, expected: str, place: int | None = None) -> checks.InvalidInput:
        """An error that shows the text, a mark under the place, and what was expected there."""
        place = self.place if place is None else place
        rest = self.text[place:].split()
        came = repr(rest[0][:WIDEST_LINE]) if rest else "the end"
        return checks.InvalidInput(self.what, expected=expected, got=came, mark=marked(self.text, place))

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.place)
        if found is None:
            return None
        self.place = found.end()
        self._skip()
        return found.group()

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.place)
        self.place = found.end() if found else self.place


def marked(text: str, place: int) -> str:
    """The text on one line, and below it a mark under the place.

    >>> print(marked("dollars 5", 8))
      dollars 5
              ^
    """
    first = max(0, place - WIDEST_LINE // 2)
    shown = [_printable(letter) for letter in text[first : first + WIDEST_LINE]]
    before = sum(_width(letter) for letter in shown[: place - first])
    return f"  {''.join(shown)}\n  {' ' * before}^"


def written_name(name: str) -> str:
    r"""A name as a text has it: in quotes where it could be read as something else.

    >>> print(written_name("dollars"), written_name("time to first token"), written_name("in"))
    dollars "time to first token" "in"
    """
    if _BARE.fullmatch(name) and name.casefold() not in KEYWORDS:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written_number(value: float, percent: bool = False) -> str:
    """The shortest text that gives the same number.

    >>> written_number(5.0), written_number(0.07, percent=True), written_number(1e-9)
    ('5', '7%', '1e-9')
    """
    number = Decimal(repr(value + 0.0)).scaleb(2 if percent else 0)
    if not number:
        text = "0"
    elif -PLAIN_DIGITS // 2 < number.adjusted() < PLAIN_DIGITS:
        text = f"{number:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        digits, _, exponent = f"{number.normalize():e}".partition("e")
        text = f"{digits}e{int(exponent)}"
    return text + "%" * percent


def _listed(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _printable(letter: str) -> str:
    if letter.isspace():
        return " "
    return letter if checks.visible(letter, keep="") == letter else "?"


def _width(letter: str) -> int:
    """Places that a letter takes on a terminal."""
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
