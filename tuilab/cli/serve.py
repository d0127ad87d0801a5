"""`tuilab serve`: the lab in a browser on this machine."""

import click

from tuilab.model.errors import InputError

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@click.command()
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65_535))
@click.option("--address", default="localhost", show_default=True, help="The address to listen on.")
@click.option("--open-to-others", is_flag=True, help="Allow an address that other machines can reach.")
def serve(port: int, address: str, open_to_others: bool) -> None:
    """Serve the lab to a browser. Each page is a lab of its own, with a worker of its own."""
    if address not in LOOPBACK:
        if not open_to_others:
            raise InputError("--address", address, "localhost, or --open-to-others with it")
        click.echo(
            f"WARNING: whoever can reach {address}:{port} can use this lab, its history and, through it, "
            "your account's files. There is no password and no encryption.",
            err=True,
        )
    try:
        from tuilab.tui.serve import LabServer
    except ImportError as error:
        if error.name not in ("textual_serve", "aiohttp"):
            raise
        raise InputError("tuilab serve", "not installed", "pip install 'tuilab[serve]'") from None
    LabServer(address, port).serve()
