"""The same contract reviews through the design that Stagepost replaces, and through Stagepost.

One call of a model for each review in both, with the same prompt. The provider's ledger is the
judge. What is told in seconds of the provider is shortened by `SPEED`.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import httpx
import orjson

from bench import server
from bench.program import Figures, latencies, print_figures, scratch_folder
from bench.reviews_given import WARM_UP, Review, reviews, script
from bench.server import HOST, Server

SPEED = 10.0
_QUICK_SPEED = 30.0
_QUICK = 30  # reviews, below which the speed is that
REQUESTS, AT_ONCE = 60, 10
COUNTED = "--count-refused"
"""What OpenAI says of its limits: a refused request is one of the minute's, too."""
SLOTS = 16
PROXY = 60.0
"""Seconds of the provider after which the proxy gives up."""
TRIES = 5
"""Of one user, each 10 to 20 seconds of the provider after the one before."""
_WAITS = (10.0, 20.0)
_LONGEST = 90.0  # real seconds that any user waits


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went for one user: when it was over, and how long the first answer took."""

    at: float
    reviewed: bool
    first: float


@dataclass(frozen=True, slots=True)
class Played:
    """All users, the seconds of this machine from the first's arrival to the last's end, and what
    the provider's ledger says before and after."""

    ended: Sequence[Ended]
    seconds: float
    before: Mapping[str, Any]
    after: Mapping[str, Any]


User = Callable[[httpx.AsyncClient, Review], Awaitable[Ended]]


def stagepost(given: Sequence[Review], speed: float) -> Figures:
    """`stagepost up` with the models.toml that the provider prints."""
    with scratch_folder() as folder, _provider(folder, given, speed, COUNTED) as (provider, models):
        path = folder / "models.toml"
        path.write_text(models, encoding="utf-8")
        settings = {"STAGEPOST_MODELS": str(path)}
        with server.stagepost(folder / "data", slots=SLOTS, settings=settings) as running:
            played = asyncio.run(_play(given, speed, _submitting(running.port), provider.port))
    return Figures("stagepost", _figures(played, speed, shown_in=1e3))


def constant(given: Sequence[Review], speed: float) -> Figures:
    """How long the first answer takes where nothing is done for it; the bare limit."""
    with server.bare() as running:
        firsts = asyncio.run(_constant(given, speed, running.port))
    return Figures("constant answer", latencies([1e3 * first for first in firsts]))


async def _constant(given: Sequence[Review], speed: float, port: int) -> Sequence[float]:
    async def user(client: httpx.AsyncClient, review: Review) -> Ended:
        began = time.monotonic()
        await client.post(f"http://{HOST}:{port}/", json={"prompt": review.prompt})
        return Ended(time.monotonic(), reviewed=False, first=time.monotonic() - began)

    async with _client() as client:
        await user(client, WARM_UP)
        ended = await _all(client, given, speed, user, time.monotonic() + 0.5)
    return [one.first for one in ended]


def endpoint(given: Sequence[Review], speed: float, threads: int, *ways: str) -> Figures:
    """The endpoint with so many threads, at a provider with these options."""
    with scratch_folder() as folder, _provider(folder, given, speed, *ways) as (provider, _):
        url = f"http://{HOST}:{provider.port}/v1"
        words = ("--provider", url, "--threads", str(threads), "--speed", str(speed))
        with server.review_endpoint(*words) as running:
            user = _insisting(running.port, speed)
            played = asyncio.run(_play(given, speed, user, provider.port))
    # All of its times are the provider's.
    return Figures("endpoint", _figures(played, speed, shown_in=1e3 * speed))


def _provider(
    folder: Path, given: Sequence[Review], speed: float, *ways: str
) -> AbstractContextManager[tuple[Server, str]]:
    path = folder / "script.json"
    path.write_bytes(orjson.dumps(script(given)))
    limits = ("--rpm", str(REQUESTS), "--tpm", "0", "--concurrency", str(AT_ONCE))
    times = ("--first-token", "0", "--token", "0", "--speed", str(speed))
    return server.provider(*limits, *ways, "--no-headers", *times, "--script", str(path))


async def _play(given: Sequence[Review], speed: float, user: User, provider: int) -> Played:
    """Each user at its time, after one before all, so that everything is loaded."""
    async with _client() as client:
        await user(client, WARM_UP)
        before = _summary(provider)
        begin = time.monotonic() + 0.5
        ended = await _all(client, given, speed, user, begin)
    first = begin + given[0].arrives / speed
    return Played(ended, max(one.at for one in ended) - first, before, _summary(provider))


async def _all(
    client: httpx.AsyncClient, given: Sequence[Review], speed: float, user: User, begin: float
) -> Sequence[Ended]:
    async def come(review: Review) -> Ended:
        await asyncio.sleep(begin + review.arrives / speed - time.monotonic())
        return await user(client, review)

    return await asyncio.gather(*map(come, given))


def _client() -> httpx.AsyncClient:
    """Each request on a connection of its own, as users have them."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncClient(limits=limits, timeout=_LONGEST)


def _summary(provider: int) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(server.get(provider, "/_sim/summary"))
    return found


def _submitting(port: int) -> User:
    base = f"http://{HOST}:{port}/api/v1/tasks"

    async def user(client: httpx.AsyncClient, review: Review) -> Ended:
        began = time.monotonic()
        answer = await client.post(f"{base}/one-call-review", json={"prompt": review.prompt})
        first = time.monotonic() - began
        if answer.status_code != 202:
            raise SystemExit(f"a submit was answered with {answer.status_code}: {answer.text}")
        path = f"{base}/{answer.json()['taskId']}/status?wait=20"
        status = answer.json()
        while time.monotonic() < began + _LONGEST and not status.get("final"):
            status = (await client.get(path)).raise_for_status().json()
        return Ended(time.monotonic(), status["status"] == "COMPLETED", first)

    return user


def _insisting(port: int, speed: float) -> User:
    url = f"http://{HOST}:{port}/review"

    async def user(client: httpx.AsyncClient, review: Review) -> Ended:
        waits, began, first = Random(review.number), time.monotonic(), 0.0
        for trial in range(TRIES):
            if trial:
                await asyncio.sleep(waits.uniform(*_WAITS) / speed)
            status = await _through_proxy(client, url, review, speed)
            now = time.monotonic()
            first = first or now - began
            if status == 200:
                return Ended(now, True, first)
        return Ended(time.monotonic(), False, first)

    return user


async def _through_proxy(client: httpx.AsyncClient, url: str, review: Review, speed: float) -> int:
    """The status that a user sees; the proxy leaves the endpoint when its time is over."""
    try:
        async with asyncio.timeout(PROXY / speed):
            return (await client.post(url, json={"prompt": review.prompt})).status_code
    except TimeoutError:
        return 504
    except httpx.TransportError:
        return 502


def _figures(played: Played, speed: float, *, shown_in: float) -> dict[str, float]:
    """`shown_in` is what a second of the first answer counts."""
    reviewed = sum(one.reviewed for one in played.ended)
    if not reviewed:
        raise SystemExit("no review was completed, so there is nothing to compare")
    minutes = played.seconds * speed / 60
    paid = played.after["billed"]["calls"] - played.before["billed"]["calls"]
    twice = played.after["billedTwice"]["byContent"]["excess"]
    refused = sum(n for why, n in played.after["refused"].items() if why.startswith("429"))
    return {
        "completed": reviewed,
        "given up": len(played.ended) - reviewed,
        "minutes": round(minutes, 2),
        "completed/h": round(reviewed * 60 / minutes, 1),
        "429s": refused,
        "calls paid": paid,
        "paid twice": twice,
        "paid, never seen": paid - twice - reviewed,
        **latencies([one.first * shown_in for one in played.ended]),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=["stagepost", "endpoint", "constant"])
    parser.add_argument("threads", type=int, nargs="?", default=40)
    parser.add_argument("--lenient", action="store_true", help="refusals count for nothing")
    parser.add_argument("--size", type=int, default=300, help="reviews")
    words = parser.parse_args()
    given = reviews(words.size)
    speed = SPEED if words.size >= _QUICK else _QUICK_SPEED
    if words.subject == "stagepost":
        print_figures(stagepost(given, speed))
    elif words.subject == "constant":
        print_figures(constant(given, speed))
    else:
        ways = () if words.lenient else (COUNTED,)
        print_figures(endpoint(given, speed, words.threads, *ways))


if __name__ == "__main__":
    main()
