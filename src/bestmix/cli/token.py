"""``bestmix token``: who may use the service."""

import json
import shlex
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common
from bestmix.cli.opening import DatabaseUrl, check_own, check_there

app = typer.Typer(no_args_is_help=True, help="Tokens for the service: made, listed, revoked.")


@app.command()
def create(
    url: DatabaseUrl,
    scope: Annotated[str, typer.Option(help="read; work: also ask and tell; admin: also create and steer.")] = "work",
    experiment: Annotated[str | None, typer.Option(help="For this one only.", show_default="all")] = None,
    days: Annotated[float | None, typer.Option(help="Days until it expires.", show_default="never")] = None,
    label: Annotated[str, typer.Option(help="Whose it is, or what for.", show_default=False)] = "",
    as_json: common.Json = False,
) -> None:
    """Make a token and show it, this once.

    Example: [bold]bestmix token create bestmix.db --scope work --label 'cluster'[/bold]
    """
    from bestmix.experiments import open_storage
    from bestmix.service.tokens import Tokens

    check_own(url)
    with open_storage(url) as storage:
        token, text = Tokens(storage).create(scope, label, experiment, days)
    if as_json:
        typer.echo(json.dumps({**token.to_dict(), "token": text}, indent=1))
        return
    typer.echo(text)
    command = shlex.join(["bestmix", "token", "revoke", url, token.prefix])
    hint = f"This is the only time that it is shown; revoke it with: {command}"
    common.messages().print(hint, markup=False, soft_wrap=True)


@app.command("list")
def list_all(url: DatabaseUrl, as_json: common.Json = False) -> None:
    """List tokens by the part that may be shown.

    Example: [bold]bestmix token list bestmix.db[/bold]
    """
    from bestmix.experiments import open_storage
    from bestmix.experiments.model import moment
    from bestmix.service.tokens import Tokens

    check_there(url)
    with open_storage(url) as storage:
        found = [token.to_dict() for token in Tokens(storage).list()]
        names = {record.key: record.name for record, _ in storage.store.entries()}
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    table = Table("token", "scope", "experiment", "state", "created", "expires", "label")
    for t in found:
        only = "all" if t["experiment"] is None else names.get(t["experiment"], "deleted")
        expires = "never" if t["expires"] is None else f"{moment(t['expires']):%F %T}"
        cells = [t["prefix"], t["scope"], only, t["state"], f"{moment(t['created']):%F %T}", expires, t["label"]]
        table.add_row(*map(Text, cells))
    common.output().print(table if found else "There are no tokens yet.")


@app.command()
def revoke(
    url: DatabaseUrl,
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="As list shows it, such as bm_0123abcd.")],
    as_json: common.Json = False,
) -> None:
    """End a token for good; servers notice within a second.

    Example: [bold]bestmix token revoke bestmix.db bm_0123abcd[/bold]
    """
    from bestmix.experiments import open_storage
    from bestmix.service.tokens import Tokens

    check_there(url)
    with open_storage(url) as storage:
        token = Tokens(storage).revoke(prefix)
    typer.echo(json.dumps({"revoked": token.prefix}) if as_json else f"Revoked {token.prefix}.")
