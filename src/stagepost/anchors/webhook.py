"""An anchor behind a URL: seals are posted to it as lines of JSON."""

from collections.abc import Sequence
from typing import Final

import httpx

from stagepost.addresses import host_of
from stagepost.errors import AnchorUnavailable, StoreRefused

_LIMIT: Final = 10.0  # seconds for one answer
_TYPE: Final = "application/x-ndjson"


class WebhookAnchor:
    """A receiver that answers 2xx has kept what came; one that appends it has a verifiable file.

    Of the URL only the host is ever shown. Raises StoreRefused for what is none.
    """

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        try:
            self._shown = host_of(url)
        except ValueError as error:
            raise StoreRefused(
                "STAGEPOST_AUDIT_ANCHOR is no address; write https://HOST/PATH, or a file's path."
            ) from error
        self._url = url
        self._client = httpx.AsyncClient(
            timeout=_LIMIT, transport=transport, follow_redirects=False
        )

    async def keep(self, lines: Sequence[str]) -> None:
        """Post lines."""
        content = "".join(f"{line}\n" for line in lines)
        try:
            answer = await self._client.post(
                self._url, content=content, headers={"Content-Type": _TYPE}
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._away(f"does not answer ({type(error).__name__})") from error
        if not answer.is_success:
            raise self._away(f"answers {answer.status_code}")

    def _away(self, why: str) -> AnchorUnavailable:
        return AnchorUnavailable(
            f"The audit anchor {self._shown} {why}; mend that, seals are kept until it does."
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()
