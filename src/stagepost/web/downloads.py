"""Blobs and saved files as answers."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stagepost.blobs import Blobs
from stagepost.web.server import abort

STALL: Final = 30.0
"""Seconds that one piece may wait for the reader."""

_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}", re.ASCII)
_SHOWN: Final = frozenset(
    {"text/html", "text/plain", "application/json", "image/png", "image/jpeg"}
)
_TEXT: Final = "text/"
_SANDBOX: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:"
)
"""A report may look as it likes, but it runs nothing, loads nothing and has no origin."""


class BlobResponse(Response):
    """A blob, read and sent piece by piece."""

    def __init__(
        self,
        blobs: Blobs,
        key: str,
        size: int,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(None, 200, headers, media_type)
        self.headers["Content-Length"] = str(size)
        self._blobs = blobs
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # ASGI
        """Send it; a reader that takes nothing for STALL seconds is cut."""
        pieces = self._blobs.stream(self._key)
        # The first piece before the head: what is missing is a problem, not half an answer.
        piece = await anext(pieces, b"")
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        try:
            await _patiently(send, start)
            while piece:
                await _patiently(send, _body(piece, more=True))
                piece = await anext(pieces, b"")
            await _patiently(send, _body(b"", more=False))
        except TimeoutError:
            abort(scope)


async def _patiently(send: Send, message: Any) -> None:
    async with asyncio.timeout(STALL):
        await send(message)


def _body(piece: bytes, *, more: bool) -> Any:
    return {"type": "http.response.body", "body": piece, "more_body": more}


def file_headers(name: str, media_type: str) -> tuple[str, Mapping[str, str]]:
    """The media type of a saved file, and the headers that keep it from doing harm.

    What a browser may show is shown in a sandbox; everything else is saved.
    """
    plain = media_type.partition(";")[0].strip().lower()
    if not _MEDIA_TYPE.fullmatch(plain):
        plain = "application/octet-stream"
    way = "inline" if plain in _SHOWN else "attachment"
    shown = f"{plain}; charset=utf-8" if plain.startswith(_TEXT) else plain
    disposition = f"{way}; filename*=UTF-8''{quote(name, safe='')}"
    return shown, {"Content-Disposition": disposition, "Content-Security-Policy": _SANDBOX}
