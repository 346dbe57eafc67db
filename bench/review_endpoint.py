"""The design that Stagepost replaces: a model is called within the request, and retried there.

Written as one would: a worker thread for each request that is being worked on (as FastAPI runs a
plain `def`), the `openai` SDK with its own retries and time-outs, one client for all, a refusal
passed on as "busy, try again". The threads are as many as `--threads` says; a request beyond them
waits for one. That its caller has left meanwhile, as a proxy whose time is over, is not noticed by
a call that blocks.
"""

import argparse
import socket

import openai
import uvicorn
import uvloop
from anyio import to_thread
from openai import _base_client
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bench.apps import MOST_TOKENS
from bench.server import HOST


def application(client: openai.OpenAI, threads: int) -> Starlette:
    """`POST /review` with a prompt, answered when the model has."""

    def ask(prompt: str) -> str:
        said = client.chat.completions.create(
            model="sim-large",
            messages=[{"role": "user", "content": prompt}],
            max_completion_tokens=MOST_TOKENS,
        )
        return said.choices[0].message.content or ""

    async def review(request: Request) -> JSONResponse:
        to_thread.current_default_thread_limiter().total_tokens = threads
        try:
            prompt = (await request.json())["prompt"]
        except ClientDisconnect:
            return JSONResponse({"error": "gone"}, 499)
        try:
            return JSONResponse({"review": await run_in_threadpool(ask, prompt)})
        except openai.RateLimitError:
            return JSONResponse({"error": "busy, try again"}, 503, {"retry-after": "10"})
        except openai.APIError as error:
            return JSONResponse({"error": str(error)}, 502)

    return Starlette(routes=[Route("/review", review, methods=["POST"])])


def _shorten(speed: float) -> None:
    """The SDK's own waits between tries, in seconds of the provider; those it is told are."""
    for name in ("INITIAL_RETRY_DELAY", "MAX_RETRY_DELAY"):
        vars(_base_client)[name] /= speed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--provider", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--speed", type=float, required=True)
    words = parser.parse_args()
    _shorten(words.speed)
    client = openai.OpenAI(base_url=words.provider, api_key="any")
    listener = socket.create_server((HOST, 0), backlog=2048)
    print(f"ready http://{HOST}:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(application(client, words.threads), log_level="warning")
    uvloop.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
