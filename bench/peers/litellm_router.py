"""LiteLLM's Router with all its defaults, and the provider's limits told to it.

Its prices come from its package, not from the network.
"""

import asyncio
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
import openai
from litellm import Router

from bench.quota_caller import Caller, told
from bench.quota_case import ANSWER, MODEL, cases


async def call(url: str, name: str, minutes: float) -> None:
    """At the case's instants; what fails after the router's own retries has failed."""
    case = cases()[name]
    lent = {"rpm": case.requests, "tpm": case.tokens}
    reached = {"model": f"openai/{MODEL}", "api_base": url, "api_key": "any"}
    router = Router(model_list=[{"model_name": "best", "litellm_params": {**reached, **lent}}])

    async def ask(prompt: str) -> str:
        try:
            await router.acompletion(
                "best", [{"role": "user", "content": prompt}], max_tokens=ANSWER
            )
        except openai.OpenAIError:
            return "failed"
        return "answered"

    caller = Caller(ask)
    await caller.run(name, minutes)
    told({"begun": caller.begun, "failed": caller.ended["failed"]})


if __name__ == "__main__":
    litellm.suppress_debug_info = True
    asyncio.run(call(sys.argv[1], sys.argv[2], float(sys.argv[3])))
