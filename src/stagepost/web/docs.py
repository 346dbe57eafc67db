"""/openapi.json, and /docs: the same for people, as one page without scripts or foreign servers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from starlette.responses import Response

from stagepost.web.answers import Operation, reads
from stagepost.web.docs_page import page
from stagepost.web.schemas import AnyJson

_ONWARD: Final = '<a href="/docs">The page of the API</a>'
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
)


class DocRoutes:
    """Serves the document that `build` makes."""

    def __init__(self, build: Callable[[], Mapping[str, Any]]) -> None:
        self._build = build
        self._json = b""
        self._html = b""

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            Operation(
                method="GET",
                path="/",
                endpoint=self.start,
                answers={307: str},
                media_type="text/html",
                headers={"Location": "The page of the API."},
            ),
            reads("/openapi.json", self.json, AnyJson),
            Operation(
                method="GET",
                path="/docs",
                endpoint=self.page,
                answers={200: str},
                media_type="text/html",
            ),
        ]

    async def start(self) -> Response:
        """Where a person begins; until there is a page for them, the API's."""
        return Response(_ONWARD, 307, {"Location": "/docs"}, "text/html")

    async def json(self) -> Response:
        """The OpenAPI document."""
        self._make()
        return Response(self._json, media_type="application/json")

    async def page(self) -> Response:
        """The OpenAPI document as a page."""
        self._make()
        headers = {"Content-Security-Policy": _POLICY}
        return Response(self._html, media_type="text/html", headers=headers)

    def _make(self) -> None:
        # At the first request for it: a start has no time for what few will read.
        if self._json:
            return
        document = self._build()
        self._html = page(document).encode()
        self._json = orjson.dumps(document)
