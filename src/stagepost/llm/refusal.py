"""What a provider's refusal means: one list of rules, the first that fits decides. Pure.

The same word means different things by provider (`insufficient_quota` is money at OpenAI, and a
rate of tokens at DashScope), and one thing has many words, so a rule names its dialects, statuses,
codes and words. `tests/support/refused_answers.py` has an answer of each provider for each row of
the table in docs/model-failures.md.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from stagepost.failure import FailureKind
from stagepost.llm.dialect import Dialect
from stagepost.llm.said import Said
from stagepost.llm.waits import asked_wait

_K = FailureKind
_D = Dialect


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no answer that can be used.

    `message` is what the provider said, for the operator: it may quote the request. `retry_after`
    is the wait in seconds that the provider asks for. `maybe_billed`: the provider may have done
    the work and charged for it.
    """

    kind: FailureKind
    message: str
    retry_after: float | None = None
    maybe_billed: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Fits where everything that it names is so; what it leaves out does not matter.

    `says` is looked for in the message. `quiet` wants an answer that asks for no wait.
    """

    kind: FailureKind
    statuses: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    says: re.Pattern[str] | None = None
    dialects: frozenset[Dialect] = frozenset()
    quota: str = ""
    quiet: bool = False

    def fits(self, said: Said, dialect: Dialect, wait: float | None) -> bool:
        """Whether it is about this answer."""
        return (
            (not self.dialects or dialect in self.dialects)
            and (not self.statuses or said.status in self.statuses)
            and (not self.codes or not self.codes.isdisjoint(said.codes))
            and (self.says is None or self.says.search(said.message) is not None)
            and (not self.quota or any(self.quota in name for name in said.values("quotaId")))
            and not (self.quiet and wait is not None)
        )


def _rule(
    kind: FailureKind,
    *statuses: int,
    codes: Iterable[str] = (),
    says: str | None = None,
    dialects: Iterable[Dialect] = (),
    quota: str = "",
    quiet: bool = False,
) -> Rule:
    pattern = None if says is None else re.compile(says, re.IGNORECASE)
    return Rule(
        kind, frozenset(statuses), frozenset(codes), pattern, frozenset(dialects), quota, quiet
    )


RULES: Final[tuple[Rule, ...]] = (
    # It is sent elsewhere: a base_url that is not quite the provider's.
    _rule(_K.CONFIG, *range(300, 400)),
    # Whatever the status: some send these with a 400, others with a 500 or in a stream.
    _rule(
        _K.CONTENT_POLICY,
        codes=(
            "content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation",
            "DataInspectionFailed", "data_inspection_failed", "SAFETY", "PROHIBITED_CONTENT",
        ),
    ),
    _rule(_K.CONTENT_POLICY, says=r"content management policy|Content Exists Risk"),
    _rule(_K.CONTEXT_LENGTH, 413),
    _rule(_K.CONTEXT_LENGTH, codes=("context_length_exceeded", "exceed_context_size_error")),
    _rule(
        _K.CONTEXT_LENGTH,
        says=(
            r"maximum context length|prompt is too long|exceeds? (?:the )?(?:available )?"
            r"context (?:size|window|limit)|context size has been exceeded|"
            r"input length and `?max_tokens`? exceed|range of input length should be|"
            r"input token count .* exceeds the maximum"
        ),
    ),
    # Money, which no waiting brings back.
    _rule(_K.RATE_LIMIT, codes=("insufficient_quota",), dialects=(_D.DASHSCOPE,)),
    _rule(_K.QUOTA, 402),
    _rule(
        _K.QUOTA,
        codes=(
            "insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached",
            "billing_not_active", "billing_error", "Arrearage",
        ),
    ),
    _rule(
        _K.QUOTA,
        says=(
            r"credit balance is too low|regain access on|specified api usage limits?|"
            r"insufficient balance"
        ),
    ),
    # Gemini tells by the quota's name and size what has run out.
    _rule(_K.CONFIG, 429, says=r"\blimit: 0\b", dialects=(_D.GEMINI,)),
    _rule(_K.QUOTA, 429, quota="PerDay", dialects=(_D.GEMINI,)),
    _rule(_K.AUTH, 400, says=r"api key (?:not valid|expired)", dialects=(_D.GEMINI,)),
    # Anthropic asks for no wait where a spend limit is reached.
    _rule(_K.QUOTA, 429, dialects=(_D.ANTHROPIC,), quiet=True),
    _rule(_K.RATE_LIMIT, 429),
    _rule(
        _K.RATE_LIMIT,
        codes=(
            "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "Throttling",
            "Throttling.RateQuota", "Throttling.AllocationQuota", "Throttling.BurstRate",
            "limit_requests",
        ),
    ),
    _rule(_K.OVERLOADED, 503, 529),
    _rule(_K.OVERLOADED, codes=("overloaded_error", "server_is_overloaded", "UNAVAILABLE")),
    _rule(_K.CONFIG, 404),
    _rule(
        _K.CONFIG,
        codes=(
            "model_not_found", "DeploymentNotFound", "NOT_FOUND", "not_found_error",
            "AccessDenied.Unpurchased", "Model.AccessDenied",
        ),
    ),
    _rule(_K.AUTH, 401, 403),
    _rule(
        _K.AUTH,
        codes=("invalid_api_key", "authentication_error", "permission_error", "InvalidApiKey"),
    ),
    _rule(_K.TIMEOUT, 408),
    _rule(_K.TIMEOUT, codes=("timeout_error", "DEADLINE_EXCEEDED")),
    _rule(_K.SERVER_ERROR, 409, 425),
    _rule(_K.SERVER_ERROR, *range(500, 600)),
    _rule(_K.INVALID_INPUT, *range(400, 500)),
    _rule(_K.INVALID_INPUT, codes=("invalid_request_error", "INVALID_ARGUMENT")),
)  # fmt: skip

_FILTERED: Final = frozenset({
    "content_filter", "refusal", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
    "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
})  # fmt: skip
"""Finish reasons; Gemini has its own words for them also where it speaks OpenAI's language."""

_BILLED_PERHAPS: Final = frozenset({408, 504, 524})
"""The work may have been done when somebody on the way lost patience."""


def refusal_of(said: Said, dialect: Dialect, now: datetime) -> Refusal:
    """What it means that a provider answered so; an error in a stream is a fault of its server."""
    wait = asked_wait(said, now)
    for rule in RULES:
        if rule.fits(said, dialect, wait):
            break
    else:
        return Refusal(_K.SERVER_ERROR, said.message, wait, said.status is None)
    billed = said.status is None or said.status in _BILLED_PERHAPS
    return Refusal(rule.kind, said.message, wait, billed)


def refusal_in_answer(finish_reason: str | None, refused: str | None) -> Refusal | None:
    """Why an answer that came whole can't be used; None for one that can.

    `finish_reason` is None where a stream has ended without one: it was cut, and is billed.
    """
    if refused:
        return Refusal(_K.CONTENT_POLICY, refused, maybe_billed=True)
    match finish_reason:
        case None | "":
            return Refusal(
                _K.TIMEOUT, "The answer came without a finish reason.", maybe_billed=True
            )
        case "insufficient_system_resource":  # DeepSeek
            return Refusal(_K.OVERLOADED, "The model's answer was cut short.", maybe_billed=True)
        case reason if reason in _FILTERED:
            return Refusal(_K.CONTENT_POLICY, "The model's answer was refused.", maybe_billed=True)
    return None
