"""What providers tell of their limits, in the forms in which they do."""

from datetime import UTC, datetime

import pytest

from stagepost.llm.said import Said
from stagepost.llm.told import Told, What, told_of
from stagepost.simulated.quota import Kind, Meter, Quota

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)

OPENAI = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-limit-tokens": "200000",
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-remaining-tokens": "199424",
    "x-ratelimit-reset-requests": "120ms",
    "x-ratelimit-reset-tokens": "250ms",
}
AZURE = {
    "x-ratelimit-remaining-requests": "19",
    "x-ratelimit-remaining-tokens": "19913",
    "x-ratelimit-limit-tokens": "20000",
    "x-ratelimit-reset-tokens": "1",
}
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-ratelimit-requests-reset": "2026-11-30T12:00:01Z",
    "anthropic-ratelimit-tokens-limit": "38000",
    "anthropic-ratelimit-tokens-remaining": "37000",
    "anthropic-ratelimit-tokens-reset": "2026-11-30T12:00:02Z",
    "anthropic-ratelimit-input-tokens-limit": "30000",
    "anthropic-ratelimit-input-tokens-remaining": "29000",
    "anthropic-ratelimit-input-tokens-reset": "2026-11-30T12:00:02+00:00",
    "anthropic-ratelimit-output-tokens-limit": "8000",
    "anthropic-ratelimit-output-tokens-remaining": "8000",
    "anthropic-ratelimit-output-tokens-reset": "2026-11-30T12:00:00Z",
}


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        (
            OPENAI,
            {
                What.REQUESTS: Told(500, 499, 0.12),
                What.TOKENS: Told(200_000, 199_424, 0.25),
            },
        ),
        (
            AZURE,
            {What.REQUESTS: Told(None, 19, None), What.TOKENS: Told(20_000, 19_913, 1.0)},
        ),
        (
            ANTHROPIC,
            {
                What.REQUESTS: Told(50, 49, 1.0),
                What.TOKENS: Told(38_000, 37_000, 2.0),
                What.INPUT: Told(30_000, 29_000, 2.0),
                What.OUTPUT: Told(8_000, 8_000, 0.0),
            },
        ),
        ({}, {}),
        ({"x-request-id": "5"}, {}),
    ],
)
def test_headers_are_read(headers: dict[str, str], told: dict[What, Told]) -> None:
    assert told_of(Said(200, headers), NOW) == told
    shouted = {name.upper(): value for name, value in headers.items()}
    assert told_of(Said(429, shouted), NOW) == told


@pytest.mark.parametrize("text", ["-1", "", "many", "1.5", "١٢", "9" * 16, "0x10"])
def test_what_is_no_number_is_not_told(text: str) -> None:
    headers = {"x-ratelimit-limit-tokens": text, "x-ratelimit-remaining-tokens": text}
    assert told_of(Said(200, headers), NOW) == {}


def test_a_limit_of_none_is_no_limit() -> None:
    headers = {"x-ratelimit-limit-tokens": "0", "x-ratelimit-remaining-tokens": "0"}
    assert told_of(Said(429, headers), NOW) == {What.TOKENS: Told(None, 0, None)}


@pytest.mark.parametrize(
    ("reset", "most"), [("7m12s", None), ("59.9s", 14_400), ("1m30s", 14_400), ("91", None)]
)
def test_a_limit_of_a_day_is_not_one_of_a_minute(reset: str, most: int | None) -> None:
    headers = {
        "x-ratelimit-limit-requests": "14400",
        "x-ratelimit-remaining-requests": "14370",
        "x-ratelimit-reset-requests": reset,
    }
    told = told_of(Said(200, headers), NOW)[What.REQUESTS]
    assert (told.most, told.left) == (most, 14_370)


def test_a_reset_that_can_not_be_read_costs_nothing_else() -> None:
    headers = {**OPENAI, "x-ratelimit-reset-tokens": "soon"}
    assert told_of(Said(200, headers), NOW)[What.TOKENS] == Told(200_000, 199_424, None)


def test_the_simulated_provider_is_understood() -> None:
    quota = Quota(Meter(60, Kind.BUCKET), Meter(6_000, Kind.BUCKET))
    quota.admit(600, 0.0)
    assert told_of(Said(200, quota.headers(0.0)), NOW) == {
        What.REQUESTS: Told(60, 59, 1.0),
        What.TOKENS: Told(6_000, 5_400, 6.0),
    }
