"""Why a clause has no answer, and what follows from it."""

from typing import Final

from stagepost import ContentPolicy, InvalidInput, Overloaded, RateLimited, ServerError
from stagepost.tasks.contract_review.wording import Wording

NOT_ASKED: Final = "NOT_ASKED"
UNPROVED: Final = "UNPROVED"
ADDRESSED: Final = "ADDRESSED"

OF_THE_CLAUSE: Final = frozenset(
    {"CONTENT_POLICY", "INVALID_INPUT", "CONTEXT_LENGTH", "BAD_OUTPUT", UNPROVED, ADDRESSED}
)
"""Another clause may well be answered."""

OF_THE_SERVICE: Final = frozenset({"OVERLOADED", "SERVER_ERROR", "TIMEOUT", NOT_ASKED})
"""Every clause fares alike while it lasts, and later it may be over."""

STANDING: Final = frozenset({"AUTH", "CONFIG", "QUOTA", "BUDGET"})
"""Nobody answers until a person or a calendar acts: the engine waits for that without a worker."""

MAY_BE_LEFT: Final = OF_THE_CLAUSE | OF_THE_SERVICE | STANDING
"""A report can be made without the answer; any other failure is the engine's."""

ASKED_AGAIN: Final = (
    frozenset({"CONTEXT_LENGTH", "BAD_OUTPUT", UNPROVED}) | OF_THE_SERVICE | STANDING
)

IN_HALVES: Final = frozenset({"CONTEXT_LENGTH", "BAD_OUTPUT"})
"""The question or its answer may have been too long."""

_REASONS: Final = {
    "CONTENT_POLICY": Wording(
        "the provider's content policy refused it", "服务商的内容政策拒绝处理"
    ),
    "INVALID_INPUT": Wording("the provider refused the request", "服务商拒绝了该请求"),
    "CONTEXT_LENGTH": Wording("it is too long for the model", "超出模型可处理的长度"),
    "BAD_OUTPUT": Wording(
        "the model's answers did not have the form asked for", "模型的回答不符合要求的格式"
    ),
    UNPROVED: Wording(
        "nothing in the model's answer could be proved in the text", "模型的回答均无法在原文中核实"
    ),
    ADDRESSED: Wording(
        "it holds words that address the software that reads it, so that a model's answer that"
        " nothing is wrong is not relied on",
        "其中含有针对审查软件的指示，模型作出的“无问题”结论不予采信",
    ),
    "OVERLOADED": Wording("the model was overloaded", "模型服务过载"),
    "SERVER_ERROR": Wording("the model's service failed", "模型服务出错"),
    "TIMEOUT": Wording("the model did not answer in time", "模型未在限定时间内回答"),
    NOT_ASKED: Wording(
        "the models had stopped answering and were not asked", "模型已停止响应，未再询问"
    ),
    "AUTH": Wording("the provider refused the key", "服务商拒绝了密钥"),
    "CONFIG": Wording("the provider does not know the model", "服务商没有该模型"),
    "QUOTA": Wording("the quota at the provider is used up", "服务商处的额度已用完"),
    "BUDGET": Wording("the budget is used up", "预算已用完"),
}

_BY_ERROR: Final = (
    (ContentPolicy, "CONTENT_POLICY"),
    (InvalidInput, "INVALID_INPUT"),
    (Overloaded, "OVERLOADED"),
    (ServerError, "SERVER_ERROR"),
    (TimeoutError, "TIMEOUT"),
)


def kind_of(error: Exception) -> str | None:
    """The kind of a call's failure, by the table of failures; None for what is no such failure."""
    told = getattr(error, "kind", None)
    if isinstance(told, str):
        return str(told)
    return next((kind for cls, kind in _BY_ERROR if isinstance(error, cls)), None)


def limit_of(error: Exception) -> RateLimited | None:
    """What a step waits for, if it is a limit that the call met; None for any other failure."""
    if isinstance(error, RateLimited):
        return error
    if kind_of(error) != "RATE_LIMIT":
        return None
    after = getattr(error, "retry_after", None)
    return RateLimited(retry_after=after if isinstance(after, int | float) else None)


def reason(kind: str) -> Wording:
    """Why a clause has no answer, as the end of a sentence."""
    return _REASONS[kind]


def as_error(kind: str) -> Exception:
    """The exception that ends an attempt with a kind of failure of the service."""
    text = f"The review can't go on: {reason(kind).en}."
    if kind == "TIMEOUT":
        return TimeoutError(text)
    return ServerError(text) if kind == "SERVER_ERROR" else Overloaded(text)
