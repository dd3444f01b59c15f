"""``bestmix serve``: durable experiments as an HTTP service with a dashboard."""

import shlex
from typing import Annotated

import typer

PORT = 8765


def serve(
    storage: Annotated[str, typer.Option(help="sqlite:///FILE, a file's path, or postgresql://...")] = "bestmix.db",
    host: Annotated[str, typer.Option(help="Where to listen; other machines need tokens first.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = PORT,
    session: Annotated[bool, typer.Option(help="Print an address with a token of this session's own.")] = True,
    rate: Annotated[float, typer.Option(min=1, help="Requests a second of one token.")] = 5000.0,
    body_limit: Annotated[int, typer.Option(min=1000, help="Bytes of the largest body.")] = 8_000_000,
    proxies: Annotated[
        str | None, typer.Option(help="Addresses of proxies whose X-Forwarded headers count.", show_default="none")
    ] = None,
    warm_up: Annotated[bool, typer.Option(help="Accepted as before; nothing is loaded first.")] = True,
) -> None:
    """Serve experiments to workers in any language, and a page that shows them as they happen.

    The API is described at /openapi.json. The log is lines of JSON on standard error. SIGTERM and Ctrl-C
    answer what is under way, then end.

    Example: [bold]bestmix serve --storage sqlite:///bestmix.db[/bold]
    """
    check_installed()
    from bestmix.cli.opening import check_own, new_file
    from bestmix.experiments import open_storage
    from bestmix.service.app import Settings, create_app
    from bestmix.service.server import check_reach, is_loopback, listen
    from bestmix.service.server import serve as run
    from bestmix.service.tokens import Scope, Tokens, new_token

    check_own(storage)
    if (new := new_file(storage)) is not None and not is_loopback(host):
        raise ValueError(
            f"--host: {host} can be reached by others, and {new} is not there yet, with a token that keeps strangers "
            f"out; run bestmix token create {shlex.quote(storage)}, or leave --host out"
        )
    with listen(host, port) as listener, open_storage(storage) as opened:  # a new file is made last
        check_reach(host, Tokens(opened))
        own, text = new_token(Scope.admin, "session") if session and is_loopback(host) else (None, "")
        app = create_app(opened, Settings(rate=rate, largest=body_limit), own)
        place = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        typer.echo(f"bestmix serves {storage} at {place}")
        if own is not None:
            typer.echo(f"Open this address; it is valid until the server ends: {place}/login?token={text}")
        run(app, listener, proxies)
    typer.echo("Stopped; everything that was acknowledged is on disk.")


def check_installed() -> None:
    """Complain in one sentence when the extra is missing."""
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn", "httptools") if find_spec(name) is None]
    if missing:
        raise ValueError(f"the service needs {', '.join(missing)}; install bestmix[service]")
