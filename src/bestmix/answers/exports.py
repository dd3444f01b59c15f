"""A policy's weights in the words of the programs that split traffic: nginx, Envoy, LiteLLM, flagd.

With segments, ``by_segment`` has the weights within each of them; whoever is of none gets those of all users together.
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from bestmix import checks

FORMS = ("json", "nginx", "envoy", "litellm", "flagd")
PERCENTS = 10_000  # nginx knows percentages with two decimals
MILLION = 1_000_000  # Envoy and LiteLLM take whole numbers of any size

Weights = Mapping[str, float]
Segments = Mapping[str, Weights]
NO_SEGMENTS: Segments = MappingProxyType({})


def shares(weights: Mapping[str, float], total: int) -> dict[str, int]:
    """Whole numbers in the proportion of the weights that add up to ``total``, each less than one off.

    Arms whose share is nothing are left out.

    Examples
    --------
    >>> shares({"small": 2 / 3, "large": 1 / 3}, 100)
    {'small': 67, 'large': 33}
    """
    exact = {arm: Fraction(weight) * total for arm, weight in weights.items()}
    result = {arm: int(share) for arm, share in exact.items()}
    rest = sorted(exact, key=lambda arm: result[arm] - exact[arm])  # the largest remainders first
    for arm in rest[: total - sum(result.values())]:
        result[arm] += 1
    return {arm: share for arm, share in result.items() if share}


def nginx(
    weights: Weights,
    by_segment: Segments = NO_SEGMENTS,
    *,
    key: str = "$remote_addr",
    variable: str = "bestmix_arm",
    segment: str | None = None,
) -> str:
    """A ``split_clients`` block that sets a variable to an arm's name; with segments one for each, and a ``map``.

    Parameters
    ----------
    weights, by_segment : mapping of str to float
        Probabilities of arms.
    key : str
        What is hashed: who keeps one arm. ``$remote_addr`` is one arm for each address,
        ``$cookie_user`` for each user, ``$request_id`` a new draw for each request.
    variable : str
        Name of the variable, without the dollar sign.
    segment : str
        What holds a user's segment, ``$http_x_segment`` by default: a header that is called X-Segment.

    Examples
    --------
    >>> print(nginx({"small": 0.62, "large": 0.38}))
    split_clients "$remote_addr" $bestmix_arm {
        62.00%  "small";
        *       "large";
    }
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise checks.InvalidInput(
            "variable", f"expected letters, digits and underscores, got {variable!r}", "rename it"
        )
    _check_option("segment", segment, by_segment)
    if not by_segment:
        return _split(weights, key, variable)
    names = {name: f"{variable}_{place}" for place, name in enumerate(by_segment, 1)}
    _check_letters(list(names))
    lines = [f"    {_pattern(name)}  ${own};" for name, own in names.items()]
    choice = [f"map {_quoted('segment', segment or '$http_x_segment')} ${variable} {{", *lines]
    blocks = [_split(part, key, names[name]) for name, part in by_segment.items()]
    return "\n".join([*blocks, _split(weights, key, f"{variable}_0"), *choice, f"    default  ${variable}_0;", "}"])


def _split(weights: Weights, key: str, variable: str) -> str:
    parts = list(shares(weights, PERCENTS).items())
    lines = [f"    {share / 100:.2f}%".ljust(12) + f"{_quoted('arm', arm)};" for arm, share in parts[:-1]]
    lines.append("    *".ljust(12) + f"{_quoted('arm', parts[-1][0])};")
    return "\n".join([f"split_clients {_quoted('key', key)} ${variable} {{", *lines, "}"])


def _pattern(name: str) -> str:
    """A segment as a ``map`` compares it: a backslash keeps words and signs of nginx's own from being taken so."""
    special = name in ("default", "hostnames", "include", "volatile") or name.startswith(("~", "\\"))
    return _quoted("segment", f"\\{name}" if special else name)


def _check_letters(names: list[str]) -> None:
    """Nginx compares without regard to capital letters."""
    lower = [name.lower() for name in names]
    for place, name in enumerate(lower):
        if name in lower[:place]:
            twin = names[lower.index(name)]
            raise checks.InvalidInput("segments", f"nginx cannot tell {twin!r} from {names[place]!r}", "rename one")


def _check_option(name: str, value: str | None, by_segment: Segments) -> None:
    if value is not None and not by_segment:
        raise checks.InvalidInput(
            name, f"expected none, since the policy has no segments, got {value!r}", "leave it out"
        )


def _quoted(what: str, text: str) -> str:
    """A string of nginx's language."""
    if not text or not text.isprintable():
        raise checks.InvalidInput(what, f"expected text that can be printed, got {text!r}", "rename it")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def envoy(weights: Weights, by_segment: Segments = NO_SEGMENTS, *, prefix: str = "/", header: str | None = None) -> Any:
    """A route of an Envoy virtual host that splits requests between clusters named like the arms.

    With segments, a list of routes: one for each value of a header, ``x-segment`` by default, and one for the rest.

    Examples
    --------
    >>> envoy({"small": 0.62, "large": 0.38})["route"]["weighted_clusters"]["clusters"]
    [{'name': 'small', 'weight': 620000}, {'name': 'large', 'weight': 380000}]
    """
    if not isinstance(prefix, str) or not prefix.startswith("/"):
        raise checks.InvalidInput("prefix", f"expected a path that starts with /, got {prefix!r}", "write it so")
    _check_option("header", header, by_segment)
    if not by_segment:
        return _route({"prefix": prefix}, weights)
    routes = [
        _route({"prefix": prefix, "headers": [{"name": header or "x-segment", "string_match": {"exact": name}}]}, part)
        for name, part in by_segment.items()
    ]
    return [*routes, _route({"prefix": prefix}, weights)]


def _route(match: dict[str, Any], weights: Weights) -> dict[str, Any]:
    clusters = [{"name": arm, "weight": share} for arm, share in shares(weights, MILLION).items()]
    return {"match": match, "route": {"weighted_clusters": {"clusters": clusters}}}


def litellm(
    weights: Weights,
    by_segment: Segments = NO_SEGMENTS,
    *,
    group: str = "bestmix",
    models: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The configuration of a LiteLLM router: the arms as deployments of one model group, with weights.

    With segments there is a group for each, ``bestmix-free``, beside the one of all users, ``bestmix``.

    Parameters
    ----------
    weights, by_segment : mapping of str to float
        Probabilities of arms.
    group : str
        The model name that callers ask for.
    models : mapping of str to str, optional
        LiteLLM's name of each arm's model, such as ``{"small": "openai/gpt-4o-mini"}``; the arm's own
        name where it is not given.

    Examples
    --------
    >>> config = litellm({"small": 0.62, "large": 0.38}, group="chat", models={"small": "openai/gpt-4o-mini"})
    >>> config["model_list"][0]
    {'model_name': 'chat', 'litellm_params': {'model': 'openai/gpt-4o-mini', 'weight': 620000}}
    """
    models = checks.mapping("models", models or {}, "of arms to LiteLLM's model names")
    for arm in models:
        if arm not in weights:
            raise ValueError(
                f"models: expected arms of the policy, {', '.join(map(repr, weights))}, got {arm!r}; correct it"
            )
    groups = {group: weights, **{f"{group}-{name}": part for name, part in by_segment.items()}}
    entries = [
        {"model_name": name, "litellm_params": {"model": models.get(arm, arm), "weight": share}}
        for name, part in groups.items()
        for arm, share in shares(part, MILLION).items()
    ]
    return {"model_list": entries, "router_settings": {"routing_strategy": "simple-shuffle"}}


def flagd(
    weights: Weights,
    by_segment: Segments = NO_SEGMENTS,
    *,
    flag: str = "bestmix",
    attribute: str | None = None,
) -> dict[str, Any]:
    """A file of flagd, the feature flags of OpenFeature: a flag whose variants are the arms, with fractional targeting.

    The targeting key keeps its arm. With segments, the rule looks at an attribute of the evaluation context, which is
    ``segment`` by default.

    Examples
    --------
    >>> flagd({"small": 0.62, "large": 0.38})["flags"]["bestmix"]["targeting"]["fractional"][1:]
    [['small', 6200], ['large', 3800]]
    """
    if not isinstance(flag, str) or not flag.strip():
        raise checks.InvalidInput("flag", f"expected a name, got {flag!r}", "give one")
    _check_option("attribute", attribute, by_segment)
    rule: dict[str, Any] = _fractional(weights)
    if by_segment:
        place = {"var": attribute or "segment"}
        pairs = [part for name, own in by_segment.items() for part in ({"==": [place, name]}, _fractional(own))]
        rule = {"if": [*pairs, rule]}
    largest = max(weights, key=lambda arm: weights[arm])
    entry = {
        "state": "ENABLED",
        "variants": {arm: arm for arm in weights},
        "defaultVariant": largest,
        "targeting": rule,
    }
    return {"$schema": "https://flagd.dev/schema/v0/flags.json", "flags": {flag: entry}}


def _fractional(weights: Weights) -> dict[str, Any]:
    key = {"cat": [{"var": "$flagd.flagKey"}, {"var": "targetingKey"}]}
    return {"fractional": [key, *([arm, share] for arm, share in shares(weights, PERCENTS).items())]}


def write(weights: Weights, form: str, by_segment: Segments = NO_SEGMENTS, **options: Any) -> str:
    """The weights as text; Envoy's and LiteLLM's is JSON, which their YAML files take as it is."""
    if form == "nginx":
        return nginx(weights, by_segment, **options) + "\n"
    make: Any = {"envoy": envoy, "litellm": litellm, "flagd": flagd}[form]
    return json.dumps(make(weights, by_segment, **options), indent=2, ensure_ascii=False) + "\n"
