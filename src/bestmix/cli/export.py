"""``bestmix export``: a policy's weights in the words of the program that splits the traffic."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.answers.policy import Policy


class Form(StrEnum):
    """Programs that the weights can be written for."""

    json = "json"
    nginx = "nginx"
    envoy = "envoy"
    litellm = "litellm"
    flagd = "flagd"


def export(
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY", help="What --policy has saved (.json or .toml).", show_default=False)
    ],
    form: Annotated[Form, typer.Option("--as", help="The program to write for.")] = Form.json,
    key: Annotated[
        str | None, typer.Option(help="nginx: what keeps one arm, as in $cookie_user.", show_default="$remote_addr")
    ] = None,
    variable: Annotated[
        str | None, typer.Option(help="nginx: the variable that gets the arm.", show_default="bestmix_arm")
    ] = None,
    prefix: Annotated[str | None, typer.Option(help="Envoy: path of the route.", show_default="/")] = None,
    group: Annotated[
        str | None, typer.Option(help="LiteLLM: model name that callers ask for.", show_default="bestmix")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="ARM=MODEL", help="LiteLLM: an arm's model; repeat it.", show_default="the arm's name"),
    ] = None,
    segment: Annotated[
        str | None,
        typer.Option(help="nginx: what holds a user's segment, as in $cookie_plan.", show_default="$http_x_segment"),
    ] = None,
    header: Annotated[
        str | None, typer.Option(help="Envoy: the header with a user's segment.", show_default="x-segment")
    ] = None,
    flag: Annotated[str | None, typer.Option(help="flagd: name of the flag.", show_default="bestmix")] = None,
    attribute: Annotated[
        str | None,
        typer.Option(help="flagd: attribute of the context with a user's segment.", show_default="segment"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to a file.", show_default="standard output")
    ] = None,
) -> None:
    """Write a saved policy for nginx, Envoy, LiteLLM or flagd; with segments, the weights of each.

    Example: [bold]bestmix export policy.json --as nginx --key '$cookie_user' -o split.conf[/bold]
    """
    from bestmix import files
    from bestmix.answers.policy import Policy

    given = {"key": key, "variable": variable, "prefix": prefix, "group": group, "models": parse_models(model)}
    given |= {"segment": segment, "header": header, "flag": flag, "attribute": attribute}
    loaded = Policy.load(policy)
    text = loaded.export(form.value, **fitting(form, given))
    if not loaded.feasible:
        common.complain("Warning: this policy does not keep its bounds; it is the closest that was found.")
    elif loaded.safety and (loaded.certainty or 0.0) < loaded.safety:
        common.complain(f"Warning: it is not certain that this policy keeps its bounds; {wanted_text(loaded)}.")
    if output is None:
        typer.echo(text, nl=False)
    else:
        files.write_text(output, text)
        common.output().print(f"Saved {output}", markup=False, soft_wrap=True)


def wanted_text(policy: "Policy") -> str:
    """The certainty that a policy has, and the one that was wanted."""
    from bestmix.answers.number_text import chance_text, level_text

    found = "is not known" if policy.certainty is None else f"is {chance_text(policy.certainty)}"
    return f"its certainty {found}, {level_text(policy.safety or 0.0)} was wanted"


OPTIONS = {
    Form.json: (),
    Form.nginx: ("key", "variable", "segment"),
    Form.envoy: ("prefix", "header"),
    Form.litellm: ("group", "models"),
    Form.flagd: ("flag", "attribute"),
}


def fitting(form: Form, given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, if all of them are for the program."""
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if name not in OPTIONS[form]:
            option = {"models": "model"}.get(name, name)
            home = next(str(other) for other in Form if name in OPTIONS[other])
            raise ValueError(f"--{option}: goes with --as {home}, got --as {form}; leave one out")
    return options


def parse_models(texts: list[str] | None) -> dict[str, str] | None:
    """Models by arm, given as ``arm=model``.

    >>> parse_models(["small=openai/gpt-4o-mini"])
    {'small': 'openai/gpt-4o-mini'}
    """
    models: dict[str, str] = {}
    for text in texts or []:
        arm, sign, name = text.partition("=")
        if not (arm.strip() and sign and name.strip()):
            raise ValueError(f"--model: expected arm=model, as in small=openai/gpt-4o-mini, got {text!r}; write it so")
        if arm in models:
            raise ValueError(f"--model: {arm!r} is given twice; give every arm one model")
        models[arm] = name
    return models or None
