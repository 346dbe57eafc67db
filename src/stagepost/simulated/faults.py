"""What can go wrong at a provider: one table of named faults. Pure.

docs/simulated-provider.md shows the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, Final

from stagepost.simulated.denial import Denial


class Way(StrEnum):
    """How a fault goes off."""

    DENIED = "denied"
    """Refused before anything is done; nothing is billed."""
    RESET_BEFORE = "reset-before"
    RESET_AFTER = "reset-after"
    CUT = "cut"
    NO_FINISH = "no-finish"
    NO_USAGE = "no-usage"
    HANG = "hang"
    STALL = "stall"
    SLOW = "slow"
    FILTERED = "filtered"
    REFUSED = "refused"
    BAD_ANSWER = "bad-answer"


@dataclass(frozen=True, slots=True)
class Fault:
    """One of them; `does` is for people."""

    name: str
    does: str
    way: Way = Way.DENIED
    denial: Denial | None = None


def _openai(message: str, kind: str | None, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _gemini(status: str, message: str, *details: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"error": {"code": 429, "message": message, "status": status, "details": [*details]}}]


_GEMINI_DAY: Final = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
}
_GEMINI_MINUTE: Final = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}],
}


def _denied(name: str, does: str, denial: Denial) -> Fault:
    return Fault(name, does, denial=denial)


_TABLE: Final = (
    _denied(
        "429", "rate limit, with its headers and the wait",
        Denial(429, "Rate limit reached.", "requests", "rate_limit_exceeded", wait=1.0),
    ),
    _denied(
        "429-bare", "rate limit without any header or wait",
        Denial(429, "Too many requests.", "requests", "rate_limit_exceeded", bare=True),
    ),
    _denied(
        "500", "server error",
        Denial(500, "The server had an error while processing your request.", "server_error"),
    ),
    _denied(
        "502", "a gateway's page of HTML",
        Denial(502, "Bad gateway", body="<html><h1>502 Bad Gateway</h1></html>", bare=True),
    ),
    _denied(
        "503", "overloaded",
        Denial(503, "The server is overloaded.", "server_error", "server_is_overloaded"),
    ),
    _denied("529", "overloaded, as Anthropic says it", Denial(529, "Overloaded", "overloaded")),
    _denied(
        "401", "wrong key",
        Denial(401, "Incorrect API key provided.", code="invalid_api_key", bare=True),
    ),
    _denied(
        "404", "no such model",
        Denial(404, "The model does not exist or you do not have access to it.",
               code="model_not_found"),
    ),
    _denied(
        "content-filter", "the prompt is refused (400)",
        Denial(400, "The prompt was refused by the content management policy.",
               code="content_filter", param="prompt"),
    ),
    _denied(
        "context-length", "the prompt is too long (400)",
        Denial(400, "This model's maximum context length is exceeded: the prompt is too long.",
               code="context_length_exceeded", param="messages"),
    ),
    _denied(
        "quota-openai", "the money is used up: 429 `insufficient_quota`",
        Denial(429, "", bare=True, body=_openai(
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota", "insufficient_quota")),
    ),
    _denied(
        "quota-anthropic", "the spend limit is reached: 429 that asks for no wait",
        Denial(429, "", bare=True, body=_anthropic(
            "rate_limit_error", "Your workspace has reached its spend limit.")),
    ),
    _denied(
        "credit-anthropic", "the credit is used up: 400",
        Denial(400, "", bare=True, body=_anthropic(
            "invalid_request_error", "Your credit balance is too low to access the API.")),
    ),
    _denied(
        "quota-dashscope", "the account is in debt: 400 `Arrearage`",
        Denial(400, "", bare=True, body={"code": "Arrearage", "message": "Access denied."}),
    ),
    _denied(
        "rate-dashscope", "a rate of tokens, by OpenAI's word for money: 429 `insufficient_quota`",
        Denial(429, "", bare=True, body=_openai(
            "You exceeded your current quota.", "insufficient_quota", "insufficient_quota")),
    ),
    _denied(
        "quota-deepseek", "the balance is used up: 402",
        Denial(402, "", bare=True, body=_openai("Insufficient Balance", "unknown_error", None)),
    ),
    _denied(
        "quota-gemini", "the day's quota is used up: 429 `RESOURCE_EXHAUSTED`",
        Denial(429, "", bare=True, body=_gemini(
            "RESOURCE_EXHAUSTED", "You exceeded your current quota.", _GEMINI_DAY)),
    ),
    _denied(
        "rate-gemini", "the minute's quota is used up: 429 `RESOURCE_EXHAUSTED`",
        Denial(429, "", bare=True, body=_gemini(
            "RESOURCE_EXHAUSTED", "You exceeded your current quota.", _GEMINI_MINUTE)),
    ),
    Fault("reset-before", "the connection is reset before anything is done", Way.RESET_BEFORE),
    Fault("reset-after", "the answer is made and billed, then the connection is reset",
          Way.RESET_AFTER),
    Fault("cut", "the connection ends in the middle of the answer", Way.CUT),
    Fault("no-finish", "the answer ends politely, but without a `finish_reason`", Way.NO_FINISH),
    Fault("no-usage", "the answer does not tell what it has used", Way.NO_USAGE),
    Fault("hang", "keep-alives for ever, and never an answer", Way.HANG),
    Fault("stall", "half of the answer, then silence for ever", Way.STALL),
    Fault("slow", "the first token comes `wait` seconds late", Way.SLOW),
    Fault("filtered", "200, ended by the content filter", Way.FILTERED),
    Fault("refusal", "200, the model refuses to answer", Way.REFUSED),
    Fault("bad-answer", "200, with a text that fits no schema", Way.BAD_ANSWER),
)  # fmt: skip

FAULTS: Final[Mapping[str, Fault]] = {fault.name: fault for fault in _TABLE}


def fault_named(name: str) -> Fault:
    """One of the table. Raises ValueError."""
    found = FAULTS.get(name)
    if found is None:
        raise ValueError(f'There is no fault "{name}"; there are: {", ".join(FAULTS)}.')
    return found


def rate_of(text: str) -> tuple[str, float]:
    """A fault's name and share of the calls, written NAME=RATE. Raises ValueError."""
    name, _, share = text.partition("=")
    try:
        rate = float(share)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise ValueError(f'"{text}" is no NAME=RATE with a rate from 0 to 1, such as 429=0.02.')
    return fault_named(name.strip()).name, rate


def check_rates(rates: Mapping[str, float]) -> None:
    """Refuse rates that are none, or together more than all. Raises ValueError."""
    for name, rate in rates.items():
        fault_named(name)
        if not 0 <= rate <= 1:
            raise ValueError(f"The rate of {name} is {rate}; give one from 0 to 1.")
    if sum(rates.values()) > 1:
        raise ValueError("The faults' rates come to more than 1 together.")


def drawn(rates: Mapping[str, float], draw: Random) -> Fault | None:
    """The fault of one call, if it has any."""
    point = draw.random()
    for name, rate in rates.items():
        point -= rate
        if point < 0:
            return FAULTS[name]
    return None
