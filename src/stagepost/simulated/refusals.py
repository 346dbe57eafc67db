"""What the provider says when it refuses of its own accord. Pure."""

import math

from stagepost.simulated.asked import BadRequest
from stagepost.simulated.denial import Denial
from stagepost.simulated.lending import MOST_KEYS
from stagepost.simulated.quota import Quota, Refused, go_duration


def limited(model: str, quota: Quota, refused: Refused, tokens: int) -> Denial:
    """A limit is used up."""
    kind = "tokens" if refused.what == "tokens" else "requests"
    if refused.what == "concurrency":
        return Denial(
            429,
            f"Too many concurrent requests for {model}: at most {quota.concurrency} at once.",
            kind, "rate_limit_exceeded",
        )  # fmt: skip
    meter = quota.tokens if refused.what == "tokens" else quota.requests
    limit = 0 if meter is None else int(meter.limit)
    if math.isinf(refused.wait):
        return Denial(
            429, f"Request too large for {model} on {kind} per min: Limit {limit}, "
            f"Requested {tokens}.", kind, "rate_limit_exceeded",
        )  # fmt: skip
    return Denial(
        429, f"Rate limit reached for {model} on {kind} per min: Limit {limit}. Please try again "
        f"in {go_duration(refused.wait)}.", kind, "rate_limit_exceeded", wait=refused.wait,
    )  # fmt: skip


def misunderstood(error: BadRequest) -> Denial:
    """The request makes no sense."""
    return Denial(400, str(error), param=error.param)


def unknown_model(name: str) -> Denial:
    """There is no such model."""
    return Denial(
        404, f"The model `{name[:200]}` does not exist or you do not have access to it.",
        code="model_not_found",
    )  # fmt: skip


def too_long(context: int, tokens: int) -> Denial:
    """The prompt and the answer do not fit; in the words of both languages."""
    return Denial(
        400,
        f"This model's maximum context length is {context} tokens. However, you requested {tokens} "
        f"tokens: prompt is too long.",
        code="context_length_exceeded", param="messages",
    )  # fmt: skip


def wrong_key() -> Denial:
    """The key is none of this provider's."""
    return Denial(401, "Incorrect API key provided.", code="invalid_api_key", bare=True)


def too_many_keys() -> Denial:
    """The provider keeps no more quotas."""
    message = f"This provider knows at most {MOST_KEYS} keys and models."
    return Denial(401, message, code="invalid_api_key", bare=True)
