"""``dedup serve``."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from dedup.cli.options import index_option, index_place, json_option
from dedup.cli.output import named
from dedup.cli.terminal import print_json
from dedup.index import open_index, shown_place
from dedup.values.errors import DedupError

# This machine only: an index holds what a crawl has seen, and there is no password.
HOST = "127.0.0.1"


@click.command()
@index_option
@click.option(
    "--port", default=8090, show_default=True, type=click.IntRange(0, 65535), help="0 for any free one."
)
@json_option
def serve(path: Path | str | None, port: int, as_json: bool) -> None:
    """Look into an index with a browser, also while a crawl fills it.

    The pages are served on 127.0.0.1, for this machine only. The index is only read, so a crawl is
    not disturbed. Ctrl-C ends the server.

    \b
    Examples:
      dedup serve
      dedup serve pages.db --port 9000
    """
    try:
        import uvicorn

        from dedup.serve.app import application
    except ImportError as error:
        raise DedupError(
            f'{error.name} is not installed; get it by: pip install "scrapy-dedup[serve]"'
        ) from error
    index = index_place(path)
    open_index(index, read_only=True).close()  # an error is one line here, in the server a traceback
    with _listening(port) as listening:
        url = f"http://{HOST}:{listening.getsockname()[1]}/"
        if as_json:
            print_json({"index": shown_place(index), "url": url}, indent=None)
        else:
            click.echo(f"{named(shown_place(index))} is shown on {url} (Ctrl-C ends it)")
        config = uvicorn.Config(
            application(index), log_level="warning", server_header=False, proxy_headers=False
        )
        uvicorn.Server(config).run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise DedupError(
            f"port {port} of {HOST} is not available: {error.strerror}; choose another --port"
        ) from error
