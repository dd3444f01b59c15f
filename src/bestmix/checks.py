"""Checks of what users pass: every error names the argument, what was expected, what came, the remedy."""

import copyreg
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Self

import numpy as np

from bestmix.arrays import Floats

LARGEST = 1e150  # the square of a larger value is not a float
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode's categories of what acts on a screen or cannot be seen on it
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"  # letters that show nothing
JOINERS = "\u200c\u200d"  # of scripts and pictures that need them
VARIANTS = "".join(map(chr, range(0xFE00, 0xFE10)))  # choose the look of the sign before


class InvalidInput(ValueError):
    """A value that a user gave cannot be taken; programs read the fields, people the sentence made from them.

    Parameters
    ----------
    field
        The argument, the option or the file that it is about.
    fault
        What is wrong; made from ``expected`` and ``got`` where these say it.
    remedy
        What to do about it.
    expected, got
        What should have come, and what came.
    mark
        A text that could not be read, with a mark under the place, on lines of their own.

    Examples
    --------
    >>> error = InvalidInput("n", expected="a whole number", got="'x'", remedy="give one")
    >>> str(error)
    "n: expected a whole number, got 'x'; give one"
    >>> error.code, error.field, error.remedy
    ('invalid', 'n', 'give one')
    """

    code = "invalid"  # for programs, here and behind a server

    def __init__(
        self,
        field: object,
        fault: str = "",
        remedy: str = "",
        *,
        expected: str = "",
        got: object = None,
        mark: str = "",
    ) -> None:
        self.field = None if field is None else str(field)
        self.expected, self.remedy = expected, remedy
        self.got = "" if got is None else str(got)
        self.fault = fault or f"expected {expected}" + (f", got {self.got}" if self.got else "")
        place = "" if field is None else f"{self.field}: "
        self.sentence, self.mark = f"{place}{self.fault}" + (f"; {remedy}" if remedy else ""), mark
        super().__init__(f"{self.sentence}\n{mark}" if mark else self.sentence)

    def __reduce__(self) -> Any:
        """Between processes it travels as it is, and is not made anew from its sentence."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]

    @classmethod
    def quoted(cls, sentence: str, code: str, field: str | None) -> Self:
        """An error that came as a whole sentence, as that of a server does.

        >>> error = Missing.quoted("there is no such experiment", "not_found", "experiment")
        >>> str(error), error.field
        ('there is no such experiment', 'experiment')
        """
        error = cls(None, sentence)
        error.code, error.field = code, field
        return error

    def with_remedy(self, remedy: str) -> Self:
        """The same error where something else helps, as an option of a command does instead of an argument.

        >>> str(InvalidInput("log", "a row misses a value", "pass drop=True").with_remedy("use --drop"))
        'log: a row misses a value; use --drop'
        """
        return type(self)(self.field, self.fault, remedy, expected=self.expected, got=self.got or None, mark=self.mark)


class AlreadyExists(InvalidInput):
    """It is there already, with other values."""

    code = "conflict"


class Missing(InvalidInput):
    """There is no such thing."""

    code = "not_found"


def shown(value: object) -> str:
    """A value as an error message shows it: short, on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def number(name: str, value: Any, remedy: str = "give a finite number") -> float:
    """``value`` as a finite float."""
    try:
        result = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        raise InvalidInput(name, expected="a number", got=shown(value), remedy=remedy) from None
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise InvalidInput(name, expected="a finite number", got=shown(value), remedy=remedy)
    if abs(result) > LARGEST:
        raise InvalidInput(name, f"{result:g} is too large to be squared", "change the unit of measurement")
    return result


def weight(name: str, value: Any) -> float:
    """What a result counts, against a fresh one.

    >>> weight("log_weight", 0.5)
    0.5
    """
    number_ = number(name, value, "give 1 for results that count in full")
    if not 0 < number_ <= 1:
        raise InvalidInput(name, expected="a number above 0, at most 1", got=shown(value), remedy="leave out the log")
    return number_


def whole(name: str, value: Any, least: int, remedy: str, most: int = 2**62) -> int:
    """``value`` as an int of at least ``least`` and at most ``most``."""
    try:
        result = int(value)
        exact = result == value and not isinstance(value, (bool, str))
    except (TypeError, ValueError, OverflowError):
        exact = False
    if exact and result > most:
        raise InvalidInput(name, expected=f"a whole number of at most {most}", got=shown(value), remedy=remedy)
    if not exact or result < least:
        raise InvalidInput(name, expected=f"a whole number of at least {least}", got=shown(value), remedy=remedy)
    return result


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """``value`` as one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise InvalidInput(name, expected=f"one of {words}", got=shown(value), remedy="choose one of them")
    return value


def discount(value: Any) -> float:
    """What a step counts for, compared with the one before.

    >>> discount(0.9)
    0.9
    """
    if not 0 <= (result := number("discount", value)) < 1:
        raise InvalidInput("discount", expected="a number of at least 0 and below 1", got=value, remedy="try 0.9")
    return result


def fraction(value: Any) -> float:
    """A number, or a text of one, which may be a percentage; NaN for anything else.

    >>> fraction(0.95), fraction("0.9"), fraction("99.9%"), fraction("much")
    (0.95, 0.9, 0.999, nan)
    """
    try:
        if isinstance(value, str) and value.strip().endswith("%"):
            return float(Decimal(value.strip().removesuffix("%").strip()) / 100)
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        return math.nan


def safety(value: Any) -> float | None:
    """A wanted certainty that limits are kept, as a number or as text; None and "none" ask for no margin.

    >>> safety(0.95), safety("0.9"), safety("99%"), safety("none")
    (0.95, 0.9, 0.99, None)
    """
    if value is None or (isinstance(value, str) and value.strip().lower() == "none"):
        return None
    result = fraction(value)
    if not 0.5 <= result < 1.0:
        raise InvalidInput(
            "safety",
            expected="a certainty from 0.5 to below 1, or none",
            got=shown(value),
            remedy="0.95 or 95% is usual; none is the optimum at the estimates",
        )
    return result


def unprintable(text: str, allowed: str = "") -> bool:
    r"""Whether a text has control characters, which could do things to a terminal.

    >>> unprintable("small"), unprintable("\x1b[2J"), unprintable("two\nlines", allowed="\n")
    (False, True, False)
    """
    if text.isascii() and text.isprintable():
        return False
    return any(unicodedata.category(letter) == "Cc" and letter not in allowed for letter in text)


def hidden(text: str) -> bool:
    r"""Whether a text has characters that nobody sees, or that change the direction of others.

    >>> hidden("small"), hidden("sm\u200ball"), hidden("\u202ellams"), hidden("\U0001f469\u200d\U0001f52c")
    (False, True, True, False)
    """
    if text.isascii() and text.isprintable():
        return False
    return any(_is_hidden(text, place) for place in range(len(text)))


def visible(text: str, keep: str = "\n") -> str:
    r"""A text from outside as a terminal may show it: what would act on the screen, or hide in it, is written out.

    >>> print(visible("no\x1b[2J luck\u202e\nat all"))
    no\x1b[2J luck\u202e
    at all
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        ascii(letter)[1:-1] if letter not in keep and _is_hidden(text, place) else letter
        for place, letter in enumerate(text)
    )


def _is_hidden(text: str, place: int) -> bool:
    letter, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if letter in JOINERS:  # some scripts and pictures need them between two of their signs
        return not (before and after) or before.isascii() or after.isascii()
    if letter in VARIANTS:  # chooses the look of the sign before it
        return not (unicodedata.category(before or "a").startswith("S") or after == "\u20e3")
    return letter in BLANK or unicodedata.category(letter) in HIDDEN


def unencodable(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which no file and no database takes."""
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def names(name: str, values: Iterable[Any], what: str) -> tuple[str, ...]:
    """Distinct, non-empty strings."""
    if isinstance(values, str):
        raise InvalidInput(
            name, expected=f"a list of {what} names", got=f"the string {shown(values)}", remedy="put it in a list"
        )
    try:
        result = tuple(values)
    except TypeError:
        raise InvalidInput(name, expected=f"a list of {what} names", got=shown(values), remedy="give a list") from None
    seen: set[str] = set()
    for value in result:
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(name, expected="non-empty strings", got=shown(value), remedy=f"name every {what}")
        if unprintable(value) or unencodable(value):
            raise InvalidInput(name, f"{shown(value)} has a character that cannot be shown", "remove it")
        if value.strip() in seen:  # in a file they would be one
            raise InvalidInput(name, f"{shown(value)} is listed twice", f"give every {what} its own name")
        seen.add(value.strip())
    return result


def array(name: str, values: Any, shape: tuple[int | None, ...], axes: str) -> Floats:
    """A read-only array of finite floats; None in ``shape`` allows any length on that axis."""
    try:
        if np.asarray(values).dtype.kind in "USO" and any(isinstance(v, (str, bytes)) for v in np.ravel(values)):
            raise TypeError
        result = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            name, expected=f"numbers in the shape {axes}", got=shown(values), remedy="give an array"
        ) from None
    wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
    fits = result.ndim == len(shape) and all(s in (None, r) for s, r in zip(shape, result.shape, strict=True))
    if not fits:
        raise InvalidInput(
            name, expected=f"shape {wanted}, which is {axes}", got=f"shape {result.shape}", remedy="reshape it"
        )
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise InvalidInput(
            name, expected="finite numbers", got=f"{result[where]} at index {where}", remedy="remove or replace it"
        )
    if result.size and np.abs(result).max() > LARGEST:
        raise InvalidInput(name, f"values beyond {LARGEST:g} cannot be squared", "change the unit of measurement")
    result.flags.writeable = False
    return result


def mapping(name: str, value: Any, what: str) -> Mapping[str, Any]:
    """A mapping, or an error that shows the form."""
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InvalidInput(name, expected=f"a mapping {what}", got=shown(value), remedy="give a dict")
    return value


def entries(name: str, given: Iterable[str], allowed: Sequence[str], needed: Sequence[str], example: str) -> None:
    """No other entries than the allowed ones, and the needed ones; what is spelt nearly so is asked for.

    >>> entries("state", ["arm"], ["arms", "costs"], ["arms"], "")
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: state: expected the entries arms and costs, got the unknown entry 'arm'; write 'arms'
    """
    given = list(given)
    unknown = sorted(str(entry) for entry in given if entry not in allowed)
    missing = [entry for entry in needed if entry not in given]
    if not unknown and not missing:
        return
    near = get_close_matches(unknown[0], [entry for entry in allowed if entry not in given], 1) if unknown else []
    raise InvalidInput(
        name,
        expected=f"the entries {', '.join(allowed[:-1])} and {allowed[-1]}",
        got=f"the unknown entry {unknown[0]!r}" if unknown else f"no entry {missing[0]!r}",
        remedy=f"write {near[0]!r}" if near else example,
    )


def same_names(name: str, given: Iterable[str], wanted: Sequence[str], what: str) -> None:
    """Every wanted name is given, and no other."""
    given = list(given)
    missing = [n for n in wanted if n not in given]
    extra = [n for n in given if n not in wanted]
    if missing or extra:
        parts = [f"{len(missing)} missing ({', '.join(map(repr, missing[:3]))})"] if missing else []
        parts += [f"{len(extra)} unknown ({', '.join(map(repr, extra[:3]))})"] if extra else []
        known = ", ".join(map(repr, wanted[:10])) or "no names"
        raise InvalidInput(name, f"expected one value for each {what}: {known}", f"got {' and '.join(parts)}")
