"""The load of the quota benchmark, and how the provider's ledger judges it."""

from typing import Any

import pytest

from bench.quota_case import ANSWER, MINUTE, OVERLOAD, calls, cases
from bench.quota_load import judged

MINUTES = 10


@pytest.mark.parametrize("name", cases())
def test_more_is_wanted_than_is_lent_at_instants_that_are_always_the_same(name: str) -> None:
    case = cases()[name]
    wanted = list(calls(case, MINUTES))
    assert wanted == list(calls(case, MINUTES))
    assert [call.at for call in wanted] == sorted(call.at for call in wanted)
    assert wanted[-1].at < MINUTES * MINUTE
    tokens = sum(len(call.prompt) / 4 for call in wanted)
    tokens += len(wanted) * ANSWER * (0.5 if case.charge == "actual" else 1)
    asked = {"requests": len(wanted) / case.requests, "tokens": tokens / case.tokens}
    assert max(asked, key=asked.__getitem__) == case.binding
    assert asked[case.binding] / MINUTES == pytest.approx(OVERLOAD, rel=0.1)


def test_each_call_is_another_one() -> None:
    prompts = [call.prompt for call in calls(cases()["window, actual"], MINUTES)]
    assert len(set(prompts)) == len(prompts)


def summary(*lent: tuple[float, float], **refused: int) -> dict[str, Any]:
    """What a ledger tells of minutes with so many units, and of what could have been."""
    minutes = [
        {"minute": n, "lent": units, "limit": limit} for n, (units, limit) in enumerate(lent)
    ]
    return {
        "used": [{"requests": minutes, "tokens": minutes}],
        "refused": {why.replace("_", " "): times for why, times in refused.items()},
        "billed": {"calls": 7},
        "billedTwice": {"byContent": {"excess": 0}},
    }


def test_the_first_minute_and_what_is_not_over_do_not_count() -> None:
    told = summary((10, 100), (90, 100), (45, 50), (1, 100))
    found = judged(cases()["bucket, actual"], told, 3)
    assert found["share"] == found["tokens"] == pytest.approx(0.9)
    assert found["billed"] == 7


def test_a_refusal_is_one_for_whatever_limit() -> None:
    told = summary((1, 1), (1, 1), **{"429_tokens": 3, "429_requests": 2, "503_busy": 1})
    assert judged(cases()["bucket, actual"], told, 2)["429"] == 5
