"""A policy's weights in the words of the programs that split traffic: nginx, Envoy, LiteLLM."""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from bestmix import checks

FORMS = ("json", "nginx", "envoy", "litellm")
PERCENTS = 10_000  # nginx knows percentages with two decimals
MILLION = 1_000_000  # Envoy and LiteLLM take whole numbers of any size


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


def nginx(weights: Mapping[str, float], *, key: str = "$remote_addr", variable: str = "bestmix_arm") -> str:
    """A ``split_clients`` block that sets a variable to an arm's name.

    Parameters
    ----------
    weights : mapping of str to float
        Probabilities of arms.
    key : str
        What is hashed: who keeps one arm. ``$remote_addr`` is one arm for each address,
        ``$cookie_user`` for each user, ``$request_id`` a new draw for each request.
    variable : str
        Name of the variable, without the dollar sign.

    Examples
    --------
    >>> print(nginx({"small": 0.62, "large": 0.38}))
    split_clients "$remote_addr" $bestmix_arm {
        62.00%  "small";
        *       "large";
    }
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise ValueError(f"variable: expected letters, digits and underscores, got {variable!r}; rename it")
    parts = list(shares(weights, PERCENTS).items())
    lines = [f"    {share / 100:.2f}%".ljust(12) + f"{_quoted('arm', arm)};" for arm, share in parts[:-1]]
    lines.append("    *".ljust(12) + f"{_quoted('arm', parts[-1][0])};")
    return "\n".join([f"split_clients {_quoted('key', key)} ${variable} {{", *lines, "}"])


def _quoted(what: str, text: str) -> str:
    """A string of nginx's language."""
    if not text or not text.isprintable():
        raise ValueError(f"{what}: expected text that can be printed, got {text!r}; rename it")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def envoy(weights: Mapping[str, float], *, prefix: str = "/") -> dict[str, Any]:
    """A route of an Envoy virtual host that splits requests between clusters named like the arms.

    Examples
    --------
    >>> envoy({"small": 0.62, "large": 0.38})["route"]["weighted_clusters"]["clusters"]
    [{'name': 'small', 'weight': 620000}, {'name': 'large', 'weight': 380000}]
    """
    if not isinstance(prefix, str) or not prefix.startswith("/"):
        raise ValueError(f"prefix: expected a path that starts with /, got {prefix!r}; write it so")
    clusters = [{"name": arm, "weight": share} for arm, share in shares(weights, MILLION).items()]
    return {"match": {"prefix": prefix}, "route": {"weighted_clusters": {"clusters": clusters}}}


def litellm(
    weights: Mapping[str, float], *, group: str = "bestmix", models: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The configuration of a LiteLLM router: the arms as deployments of one model group, with weights.

    Parameters
    ----------
    weights : mapping of str to float
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
    entries = [
        {"model_name": group, "litellm_params": {"model": models.get(arm, arm), "weight": share}}
        for arm, share in shares(weights, MILLION).items()
    ]
    return {"model_list": entries, "router_settings": {"routing_strategy": "simple-shuffle"}}


def write(weights: Mapping[str, float], form: str, **options: Any) -> str:
    """The weights as text; Envoy's and LiteLLM's is JSON, which their YAML files take as it is."""
    if form == "nginx":
        return nginx(weights, **options) + "\n"
    data = envoy(weights, **options) if form == "envoy" else litellm(weights, **options)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
