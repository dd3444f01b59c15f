"""The reference of the command line, from the commands themselves: the ``command`` directive."""

import re
from collections.abc import Iterator
from enum import EnumType
from typing import Any

import typer

from bestmix.cli import app


def commands() -> dict[str, Any]:
    """Every command by its words, as in ``experiment create``."""
    return dict(_walk(typer.main.get_command(app), ""))


def _walk(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        words = f"{prefix} {name}".strip()
        if getattr(command, "commands", None):
            yield from _walk(command, words)
        elif not command.hidden:
            yield words, command


def describe(words: str) -> list[str]:
    """Lines of Markdown: what the command does, its arguments and its options."""
    command = commands()[words]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts]
    usage = " ".join(["bestmix", words, *(p.metavar or p.name.upper() for p in arguments), "[OPTIONS]"])
    lines = ["```text", usage, "```", "", *_prose(command.help or ""), ""]
    for parameter in (*arguments, *options):
        lines += [*_entry(parameter), ""]
    return lines


def _prose(text: str) -> list[str]:
    """A command's help, whose markup is Rich's."""
    text = re.sub(r"\[/?bold\]", "`", text)
    parts = re.split(r"(`[^`]*`)", text)  # braces and angles outside of code are plain characters
    return "".join(part if part.startswith("`") else re.sub(r"([<>{}*_])", r"\\\1", part) for part in parts).split("\n")


def _entry(parameter: Any) -> list[str]:
    """One argument or option, as an entry of a definition list."""
    names = [parameter.metavar or parameter.name.upper()]
    if parameter.param_type_name == "option":
        names = [*parameter.opts, *parameter.secondary_opts]
    kind = parameter.type_descriptor.annotation
    extra = [f"One of {', '.join(f'`{c.value}`' for c in kind)}."] if isinstance(kind, EnumType) else []
    if parameter.required and parameter.param_type_name == "option":
        extra.append("Required.")
    default = _default(parameter)
    extra += [f"Default: {default}."] if default else []
    text = " ".join([*_prose(parameter.help or "As in the example."), *extra])
    return [", ".join(f"`{name}`" for name in names), f": {text}"]


def _word(choice: Any) -> str:
    return str(getattr(choice, "value", choice))


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", True)
    if isinstance(shown, str):
        return shown
    value = parameter.default
    if not shown or value is None or isinstance(value, bool) or callable(value) or "Sentinel" in type(value).__name__:
        return ""
    return f"`{_word(value)}`"


def setup(sphinx: Any) -> dict[str, bool]:
    """Add the directive."""
    from docutils import nodes
    from docutils.statemachine import StringList
    from sphinx.util.docutils import SphinxDirective

    class Command(SphinxDirective):
        """The arguments are a command's words."""

        required_arguments = 1
        final_argument_whitespace = True

        def run(self) -> list[nodes.Node]:
            node = nodes.container()
            self.state.nested_parse(StringList(describe(self.arguments[0])), self.content_offset, node)
            return list(node.children)

    sphinx.add_directive("command", Command)
    return {"parallel_read_safe": True}
