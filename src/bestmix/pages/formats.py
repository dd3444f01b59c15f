"""Numbers as people read them."""

import math

from bestmix.answers.number_text import exact_share, measured, reach

FARTHEST_Z = 10.0  # standard errors, beyond which no more certainty can be claimed


def number(value: float | None) -> str:
    """A number with four digits, or a dash.

    >>> number(0.123456), number(None), number(float("nan"))
    ('0.1235', '–', '–')
    """
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}"


def percent(share: float) -> str:
    """A share.

    >>> percent(0.2345), percent(0.00004)
    ('23.4%', '0.004%')
    """
    return exact_share(share)


def count(whole: int) -> str:
    """A whole number with its thousands apart.

    >>> count(12345)
    '12,345'
    """
    return f"{whole:,}"


def estimate(mean: float, interval: tuple[float, float]) -> str:
    """A mean with the longer half of its interval.

    >>> estimate(1.0, (0.9, 1.1)), estimate(float("nan"), (0.0, 0.0))
    ('1.00 ± 0.10', 'not tried')
    """
    return "not tried" if math.isnan(mean) else measured(mean, reach(mean, interval))


def room(slack: float, relation: str = "<=") -> str:
    """How far a mean is from its bound.

    >>> room(0.25), room(0.0), room(-0.5), room(0.25, ">="), room(-0.5, ">=")
    ('0.25 below', 'at its bound', '0.5 too much', '0.25 above', '0.5 too little')
    """
    if not math.isfinite(slack):
        return "–"
    inside, outside = {"<=": ("below", "too much"), ">=": ("above", "too little"), "=": ("off", "off")}[relation]
    return "at its bound" if slack == 0 else f"{abs(slack):.3g} {inside if slack > 0 else outside}"


def score(value: float | None) -> str:
    """The score of a column; minus infinity where no feasible mix contains it.

    >>> score(0.5), score(float("-inf")), score(None)
    ('0.5', 'infeasible', '–')
    """
    return "infeasible" if value is not None and math.isinf(value) else number(value)


def tail(z: float) -> str:
    """The chance of an error of more than so many standard errors.

    >>> tail(0.0), tail(2.0), tail(6.0)
    ('50.0%', '2.3%', 'below 0.1%')
    """
    chance = math.erfc(z / math.sqrt(2)) / 2
    return percent(chance) if chance >= 0.001 else "below 0.1%"


def z_score(z: float | None) -> str:
    """Standard errors from another answer; a dash where there is no such answer.

    >>> z_score(1.26), z_score(138.7), z_score(None), z_score(float("inf"))
    ('1.3', 'above 10', '–', '–')
    """
    if z is None or not math.isfinite(z):
        return "–"
    return f"above {FARTHEST_Z:g}" if z > FARTHEST_Z else f"{z:.1f}"


def duration(seconds: float) -> str:
    """A time that people understand.

    >>> duration(42), duration(600), duration(7300), duration(200_000)
    ('42 s', '10 min', '2 h', '2 days')
    """
    for size, unit in ((86400.0, " days"), (3600.0, " h"), (60.0, " min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f} s"
