"""The official `openai` SDK with all its defaults: each call a coroutine, with its own retries."""

import asyncio
import sys

import openai

from bench.quota_caller import Caller, told
from bench.quota_case import ANSWER, MODEL


async def call(url: str, case: str, minutes: float) -> None:
    """At the case's instants; what fails after the SDK's own retries has failed."""
    async with openai.AsyncOpenAI(base_url=url, api_key="any") as client:

        async def ask(prompt: str) -> str:
            try:
                await client.chat.completions.create(
                    model=MODEL,
                    messages=[{"role": "user", "content": prompt}],
                    max_tokens=ANSWER,
                )
            except openai.OpenAIError:
                return "failed"
            return "answered"

        caller = Caller(ask)
        await caller.run(case, minutes)
    told({"begun": caller.begun, "failed": caller.ended["failed"]})


if __name__ == "__main__":
    asyncio.run(call(sys.argv[1], sys.argv[2], float(sys.argv[3])))
