"""Checks of what users pass: every error names the argument, what was expected, what came, the remedy."""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bestmix.arrays import Floats

JOINERS = "\u200c\u200d"
VARIANTS = "".join(map(chr, range(0xFE00, 0xFE10)))
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"  # letters that show nothing
LARGEST = 1e150  # the square of a larger value is not a float


def shown(value: object) -> str:
    """A value as an error message shows it: short, on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def number(name: str, value: Any, remedy: str = "give a finite number") -> float:
    """``value`` as a finite float."""
    try:
        result = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number, got {shown(value)}; {remedy}") from None
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ValueError(f"{name}: expected a finite number, got {shown(value)}; {remedy}")
    if abs(result) > LARGEST:
        raise ValueError(f"{name}: {result:g} is too large to be squared; change the unit of measurement")
    return result


def whole(name: str, value: Any, least: int, remedy: str, most: int = 2**62) -> int:
    """``value`` as an int of at least ``least`` and at most ``most``."""
    try:
        result = int(value)
        exact = result == value and not isinstance(value, (bool, str))
    except (TypeError, ValueError, OverflowError):
        exact = False
    if exact and result > most:
        raise ValueError(f"{name}: expected a whole number of at most {most}, got {shown(value)}; {remedy}")
    if not exact or result < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {shown(value)}; {remedy}")
    return result


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """``value`` as one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name}: expected one of {words}, got {shown(value)}; choose one of them")
    return value


def unprintable(text: str, allowed: str = "") -> bool:
    r"""Whether a text has control characters, which could do things to a terminal.

    >>> unprintable("small"), unprintable("\x1b[2J"), unprintable("two\nlines", allowed="\n")
    (False, True, False)
    """
    return any(unicodedata.category(letter) == "Cc" and letter not in allowed for letter in text)


def hidden(text: str, allowed: str = "") -> bool:
    r"""Whether a text has characters that nobody sees, or that change the direction of others.

    >>> hidden("small"), hidden("sm\u200ball"), hidden("\u202ellams"), hidden("\U0001f469\u200d\U0001f52c")
    (False, True, True, False)
    """
    return any(letter not in allowed and _is_hidden(text, place) for place, letter in enumerate(text))


def visible(text: str, allowed: str = "\n\t") -> str:
    r"""The text with escapes in place of what would not be seen, or would do things to a terminal.

    >>> print(visible("\x1b[2J, \u202ellams"))
    \x1b[2J, \u202ellams
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode() if letter not in allowed and _is_hidden(text, place) else letter
        for place, letter in enumerate(text)
    )


def _is_hidden(text: str, place: int) -> bool:
    letter, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if letter in JOINERS:  # some scripts and pictures need them between two of their signs
        return not (before and after) or before.isascii() or after.isascii()
    if letter in VARIANTS:  # chooses the look of the sign before it
        return not (unicodedata.category(before or "a").startswith("S") or after == "\u20e3")
    return letter in BLANK or unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def unencodable(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which no file and no database takes."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def names(name: str, values: Iterable[Any], what: str) -> tuple[str, ...]:
    """Distinct, non-empty strings."""
    if isinstance(values, str):
        raise ValueError(f"{name}: expected a list of {what} names, got the string {shown(values)}; put it in a list")
    try:
        result = tuple(values)
    except TypeError:
        raise ValueError(f"{name}: expected a list of {what} names, got {shown(values)}; give a list") from None
    seen: set[str] = set()
    for value in result:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{name}: expected non-empty strings, got {shown(value)}; name every {what}")
        if unprintable(value) or unencodable(value):
            raise ValueError(f"{name}: {shown(value)} has a character that cannot be shown; remove it")
        if value in seen:
            raise ValueError(f"{name}: {shown(value)} is listed twice; give every {what} its own name")
        seen.add(value)
    return result


def array(name: str, values: Any, shape: tuple[int | None, ...], axes: str) -> Floats:
    """A read-only array of finite floats; None in ``shape`` allows any length on that axis."""
    try:
        if np.asarray(values).dtype.kind in "USO" and any(isinstance(v, (str, bytes)) for v in np.ravel(values)):
            raise TypeError
        result = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers in the shape {axes}, got {shown(values)}; give an array") from None
    wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
    fits = result.ndim == len(shape) and all(s in (None, r) for s, r in zip(shape, result.shape, strict=True))
    if not fits:
        raise ValueError(f"{name}: expected shape {wanted}, which is {axes}, got shape {result.shape}; reshape it")
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name}: expected finite numbers, got {result[where]} at index {where}; remove or replace it")
    if result.size and np.abs(result).max() > LARGEST:
        raise ValueError(f"{name}: values beyond {LARGEST:g} cannot be squared; change the unit of measurement")
    result.flags.writeable = False
    return result


def mapping(name: str, value: Any, what: str) -> Mapping[str, Any]:
    """A mapping, or an error that shows the form."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: expected a mapping {what}, got {shown(value)}; give a dict")
    return value


def same_names(name: str, given: Iterable[str], wanted: Sequence[str], what: str) -> None:
    """Every wanted name is given, and no other."""
    given = list(given)
    missing = [n for n in wanted if n not in given]
    extra = [n for n in given if n not in wanted]
    if missing or extra:
        parts = [f"{len(missing)} missing ({', '.join(map(repr, missing[:3]))})"] if missing else []
        parts += [f"{len(extra)} unknown ({', '.join(map(repr, extra[:3]))})"] if extra else []
        known = ", ".join(map(repr, wanted[:10])) or "no names"
        raise ValueError(f"{name}: expected one value for each {what}: {known}; got {' and '.join(parts)}")
