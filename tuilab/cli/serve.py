"""`tuilab serve`: serves the lab to a browser on this machine."""

import socket
import sys

import click

from tuilab.model.errors import InputError

NEEDS = "textual-serve>=1.1,<2"
"""The package that `tuilab serve` needs, for pip."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@click.command()
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65_535))
@click.option("--address", default="localhost", show_default=True, help="The address to listen on.")
@click.option(
    "--keep",
    default=600,
    show_default=True,
    type=click.IntRange(0),
    help="Seconds to keep a lab alive after its browser page reloads or disconnects.",
)
@click.option("--open-to-others", is_flag=True, help="Allow an address that other machines can reach.")
def serve(port: int, address: str, keep: int, open_to_others: bool) -> None:
    """Serve the lab to a browser. Each page has its own lab and its own worker."""
    if address not in LOOPBACK:
        if not open_to_others:
            raise InputError("--address", address, "localhost; any other address also needs --open-to-others")
        click.echo(
            f"WARNING: nothing is encrypted. Anyone who can reach {address}:{port}, and who knows or "
            "intercepts the address with its token, can use this lab, its history and, through the lab, "
            "your account's files.",
            err=True,
        )
    try:
        from tuilab.serve import LabServer
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("textual_serve", "aiohttp"):
            raise
        installs = f"{sys.executable} -m pip install '{NEEDS}'"
        raise InputError("serve", "", "", f"it needs the package textual-serve: {installs}") from None
    try:
        check_free(address, port)
        LabServer(address, port, keep).serve()
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError("--port", port, f"a free port and address on this machine ({why})") from None


def check_free(address: str, port: int) -> None:
    for family, kind, protocol, _, place in socket.getaddrinfo(address, port, type=socket.SOCK_STREAM):
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
