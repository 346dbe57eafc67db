"""The anchor behind a URL."""

import httpx
import pytest

from stagepost.anchors.webhook import WebhookAnchor
from stagepost.errors import AnchorUnavailable, StoreRefused

URL = "https://anchor.example/secret"


async def test_lines_are_posted_so_that_they_can_be_appended() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(202)

    anchor = WebhookAnchor(URL, httpx.MockTransport(answer))
    await anchor.keep(["one", "two"])
    await anchor.close()
    (request,) = seen
    assert (request.method, request.content) == ("POST", b"one\ntwo\n")
    assert request.headers["Content-Type"] == "application/x-ndjson"


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_whatever_is_not_2xx_has_not_kept_them(status: int) -> None:
    anchor = WebhookAnchor(URL, httpx.MockTransport(lambda _: httpx.Response(status)))
    with pytest.raises(AnchorUnavailable, match=f"answers {status}") as caught:
        await anchor.keep(["one"])
    assert "secret" not in str(caught.value)
    await anchor.close()


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(StoreRefused, match="write https://HOST/PATH"):
        WebhookAnchor("http://")


async def test_a_receiver_that_is_away_is_waited_for() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no", request=request)

    anchor = WebhookAnchor(URL, httpx.MockTransport(away))
    with pytest.raises(AnchorUnavailable, match="does not answer"):
        await anchor.keep(["one"])
    await anchor.close()
