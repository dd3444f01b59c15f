"""Numbers and names as text: shares, chances, certainties, means with their intervals."""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_UP, Context, Decimal

MOST_LETTERS = 22  # of a name that has to share its room
MOST_LISTED = 4  # names in a sentence
MOST_TOLD = 12  # arms in a sentence, with a number for each
NEARLY_CERTAIN = 0.995
SMALLEST_STEP = 1e-300  # a number whose second digit could be too small for a float is not rounded up
MOST_DIGITS = 7  # behind the first one of a mean, which its interval has in the same power of ten
FIXED = 1e-4, 1e7  # numbers between are written without a power of ten


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of many.

    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))
    ('a', 'a and b', 'a, b, c and 3 others')
    """
    if len(names) > MOST_LISTED:
        return f"{', '.join(names[:3])} and {len(names) - 3} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def mix_text(shares: Mapping[str, float]) -> str:
    """The arms of a mix with their shares, of very many the largest.

    >>> mix_text({"small": 0.62, "large": 0.38}), mix_text({"small": 1.0})
    ('62% small with 38% large', 'small')
    """
    told, left = largest(shares)
    parts = [f"{share_text(p)} {arm}" if len(shares) > 1 else arm for arm, p in told.items()]
    return " with ".join(parts) + (f" and {left:,} more" if left else "")


def largest(numbers: Mapping[str, float]) -> tuple[dict[str, float], int]:
    """The numbers that a sentence tells, of very many the largest; and how many are left.

    >>> largest({"a": 2.0, "b": 1.0}), largest(dict.fromkeys(range(15), 1.0))[1]
    (({'a': 2.0, 'b': 1.0}, 0), 3)
    """
    if len(numbers) <= MOST_TOLD:
        return dict(numbers), 0
    told = sorted(numbers, key=lambda name: -numbers[name])[:MOST_TOLD]
    return {name: numbers[name] for name in told}, len(numbers) - MOST_TOLD


def shortened(name: str) -> str:
    """A name that has room beside a mark.

    >>> shortened("a"), shortened("distilled-with-a-very-long-name")
    ('a', 'distilled-with-a-very…')
    """
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"


def share_text(share: float) -> str:
    """A share in per cent; a small one is not nothing, and one that is almost all is not all.

    >>> share_text(0.462), share_text(0.003), share_text(0.9962), share_text(0.00004)
    ('46%', '0.3%', '99.6%', '0.004%')
    """
    small = min(share, 1.0 - share)
    if small <= 0 or small >= 0.01:
        return f"{share:.0%}"
    places = min(-math.floor(math.log10(small)) - 2, 12)
    return f"{share:.{places}%}"


def exact_share(share: float) -> str:
    """A share to a tenth of a per cent, and finer where that would say nothing or all.

    >>> exact_share(0.4621), exact_share(0.0003), exact_share(0.0), exact_share(1.0)
    ('46.2%', '0.03%', '0.0%', '100.0%')
    """
    return f"{share:.1%}" if 0.001 <= share <= 0.999 or not 0 < share < 1 else share_text(share)


def chance_text(chance: float) -> str:
    """A chance in per cent, never rounded up, and never to certainty or impossibility.

    >>> chance_text(0.94), chance_text(0.9496), chance_text(0.9999), chance_text(0.004)
    ('94%', '94%', 'above 99%', 'below 1%')
    """
    if sure(chance):
        return "above 99%"
    return f"{math.floor(100 * chance + 1e-9)}%" if chance >= 0.01 else "below 1%"


def level_text(certainty: float, digits: int = 6) -> str:
    """A certainty as it was asked for, in per cent: so many digits of the risk, which is never rounded to none.

    >>> level_text(0.95), level_text(0.9999999), level_text(0.99871234, digits=3)
    ('95%', '99.99999%', '99.871%')
    """
    exact = Decimal(f"{1.0 - certainty:.12g}")
    risk = Context(prec=digits, rounding=ROUND_UP).create_decimal(exact)
    text = f"{100 * (1 - risk):f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def sure(chance: float) -> bool:
    """Whether a chance is as good as certain.

    >>> sure(0.9949), sure(0.995)
    (False, True)
    """
    return chance >= NEARLY_CERTAIN


def above(value: float) -> str:
    """A number of two digits that is not below.

    >>> above(0.00412), above(0.004), above(123.4), above(1.01e150)
    ('0.0042', '0.004', '130', '1.1e+150')
    """
    if value < SMALLEST_STEP or not math.isfinite(value):
        return f"{value:.2g}"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    value = math.ceil(value / step - 1e-9) * step
    return f"{value:.0f}" if 10 <= value < FIXED[1] else f"{value:.2g}"


def reach(middle: float, interval: tuple[float, float]) -> float:
    """The longer half of an interval."""
    return max(middle - interval[0], interval[1] - middle)


def measured(mean: float, half: float) -> str:
    """A mean with half of its interval, both to the second digit of the latter.

    >>> measured(0.74826, 0.0124), measured(1234.5, 187.0), measured(-0.0004, 0.0996), measured(2.0, 0.0)
    ('0.748 ± 0.012', '1230 ± 190', '0.00 ± 0.10', '2')
    >>> measured(0.0000293, 0.0000011), measured(0.000021352, 0.00000083), measured(3.21e150, 1.2e149)
    ('2.93e-05 ± 0.11e-05', '2.135e-05 ± 0.083e-05', '3.21e+150 ± 0.12e+150')
    """
    if not (0 < half < math.inf and math.isfinite(mean)):
        return f"{mean:.4g}"
    half = float(f"{half:.1e}")
    places = 1 - math.floor(math.log10(half))
    mean = round(mean, places) + 0.0  # no minus before a zero
    size = max(abs(mean), half)
    power = math.floor(math.log10(size))
    if power + places > MOST_DIGITS:
        return f"{mean:.{min(power + places + 1, 15)}g} ± {half:.2g}"
    if not FIXED[0] <= size < FIXED[1]:
        return " ± ".join(_scaled(value, power, places) for value in (mean, half))
    return f"{mean:.{max(places, 0)}f} ± {half:.{max(places, 0)}f}"


def _scaled(value: float, power: int, places: int) -> str:
    """A number to a decimal place, in units of a power of ten."""
    mantissa, own = f"{value:.17e}".split("e")
    return f"{float(f'{mantissa}e{int(own) - power}'):.{max(places + power, 0)}f}e{power:+03d}"


def short(value: float) -> str:
    """A number of three digits.

    >>> short(0.12345), short(1234.5)
    ('0.123', '1.23e+03')
    """
    return f"{value:.3g}"
