"""Servers to which feeds are uploaded: FTP, and S3 as far as Scrapy asks for it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import IO, Any

from scrapy.extensions.feedexport import S3FeedStorage


class FtpFiles(dict[str, bytes]):
    """The files on a server, which takes only so many bytes of each upload if *room* says so."""

    room: int | None = None


@contextmanager
def ftp_server() -> Iterator[tuple[str, FtpFiles]]:
    """Serve FTP on 127.0.0.1, to whoever comes; gives the address and the files."""
    files = FtpFiles()

    class Session(StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 ready")
            with socket.create_server(("127.0.0.1", 0)) as passive:
                for line in self.rfile:
                    command, _, argument = line.decode().strip().partition(" ")
                    match command:
                        case "USER" | "TYPE" | "CWD":
                            self._say("230 yes")
                        case "PASV":
                            high, low = divmod(passive.getsockname()[1], 256)
                            self._say(f"227 at (127,0,0,1,{high},{low})")
                        case "STOR" | "APPE":
                            self._say("150 go on")
                            self._take(passive, argument, is_more=command == "APPE")
                        case _:
                            self._say("221 bye" if command == "QUIT" else "502 no")

        def _take(self, passive: socket.socket, name: str, *, is_more: bool) -> None:
            connection, _ = passive.accept()
            with connection, connection.makefile("rb") as stream:
                taken = stream.read()[: files.room]
            files[name] = files.get(name, b"") + taken if is_more else taken
            self._say("226 done" if files.room is None else "452 the disk is full")

        def _say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    server = ThreadingTCPServer(("127.0.0.1", 0), Session)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"ftp://me@127.0.0.1:{server.server_address[1]}", files
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class FolderClient:
    """A client of S3 whose buckets are folders; it may not write the files that its file `refused` names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def upload_fileobj(self, *, Bucket: str, Key: str, Fileobj: IO[bytes]) -> None:
        if Key in (self._folder / "refused").read_text().split():
            raise PermissionError("AccessDenied")
        place = self._folder / Bucket / Key
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(Fileobj.read())

    def put_object(self, *, Bucket: str, Key: str, Body: IO[bytes]) -> None:
        self.upload_fileobj(Bucket=Bucket, Key=Key, Fileobj=Body)


class S3(S3FeedStorage):
    """Scrapy's own storage, but for its client; the folder of that is `AWS_ENDPOINT_URL`."""

    def __init__(self, uri: str, *_: Any, endpoint_url: str, **__: Any) -> None:
        self.bucketname, _slash, self.keyname = uri.removeprefix("s3://").partition("/")
        self.acl = None
        self.s3_client = FolderClient(Path(endpoint_url))
