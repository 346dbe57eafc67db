"""What the providers' answers mean, by the rules alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.failure import FailureKind as Kind
from stagepost.llm.dialect import Dialect, dialect_of
from stagepost.llm.refusal import Refusal, refusal_in_answer, refusal_of
from stagepost.llm.said import Said
from support.refused_answers import NOW, ROWS, Row


def meaning(row: Row) -> Refusal:
    return refusal_of(Said(row.status, row.headers, row.body), row.dialect, NOW)


@pytest.mark.parametrize("name", ROWS)
def test_what_a_provider_answers_means(name: str) -> None:
    row = ROWS[name]
    found = meaning(row)
    assert found.kind is row.kind
    assert found.retry_after == (None if row.wait is None else pytest.approx(row.wait))


def test_each_kind_that_a_provider_can_cause_is_seen() -> None:
    ours = {Kind.BUG, Kind.WORKER_LOST, Kind.DEADLINE, Kind.CODE_CHANGED, Kind.CHILD_FAILED}
    later = {Kind.UNKNOWN_OUTCOME, Kind.BUDGET, Kind.BAD_OUTPUT}
    assert {row.kind for row in ROWS.values()} == set(Kind) - ours - later


def test_what_may_have_been_billed_is_told() -> None:
    billed = {name for name, row in ROWS.items() if meaning(row).maybe_billed}
    assert billed == {name for name, row in ROWS.items() if row.status in {None, 504}}


@pytest.mark.parametrize(
    ("finish", "refused", "kind"),
    [
        ("stop", None, None),
        ("tool_calls", None, None),
        ("length", None, None),
        ("content_filter", None, Kind.CONTENT_POLICY),
        ("RECITATION", None, Kind.CONTENT_POLICY),
        ("insufficient_system_resource", None, Kind.OVERLOADED),
        ("refusal", None, Kind.CONTENT_POLICY),
        ("stop", "I can't help with that.", Kind.CONTENT_POLICY),
        (None, None, Kind.TIMEOUT),
    ],
)
def test_an_answer_that_came_whole_may_be_none(
    finish: str | None, refused: str | None, kind: Kind | None
) -> None:
    found = refusal_in_answer(finish, refused)
    assert (None if found is None else found.kind) is kind
    assert found is None or found.maybe_billed


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "code", "type", "message", "details", "quotaId", "retryDelay"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.none() | st.integers(100, 599),
    st.dictionaries(
        st.sampled_from(
            ["retry-after", "Retry-After-Ms", "x-ratelimit-remaining-tokens",
             "x-ratelimit-reset-tokens"]
        ),
        st.text(max_size=12) | st.sampled_from(["0", "nan", "inf", "-1", "1e400", "6m0s", "99h"]),
    ),
    JSON,
    st.sampled_from(Dialect),
)  # fmt: skip
def test_whatever_comes_has_a_meaning(
    status: int | None, headers: dict[str, str], body: Any, dialect: Dialect
) -> None:
    found = refusal_of(Said(status, headers, body), dialect, NOW)
    assert found.retry_after is None or 0 <= found.retry_after <= 31 * 86_400


def test_a_deep_body_is_looked_at_only_so_far() -> None:
    body: Any = {"code": "insufficient_quota"}
    for _ in range(500):
        body = {"error": body}
    assert refusal_of(Said(400, {}, body), Dialect.OPENAI, NOW).kind is Kind.INVALID_INPUT
    assert json.dumps(body)


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        (None, Dialect.OPENAI),
        ("https://api.openai.com/v1", Dialect.OPENAI),
        ("https://mine.openai.azure.com/openai/deployments/x", Dialect.AZURE),
        ("https://api.anthropic.com", Dialect.ANTHROPIC),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", Dialect.GEMINI),
        ("https://europe-west4-aiplatform.googleapis.com/v1", Dialect.GEMINI),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Dialect.DASHSCOPE),
        ("https://api.deepseek.com", Dialect.DEEPSEEK),
        ("http://127.0.0.1:8000/v1", Dialect.OTHER),
        ("https://api.openai.com.evil.example", Dialect.OTHER),
        ("https://notapi.openai.com.", Dialect.OTHER),
    ],
)
def test_the_dialect_is_known_by_the_address(url: str | None, dialect: Dialect) -> None:
    assert dialect_of(url) is dialect
