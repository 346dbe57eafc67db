"""docs/concepts.md says what the code says, and names tests that are there."""

import re
from pathlib import Path

import pytest

from stagepost.children import MOST_CHILDREN
from stagepost.items import MOST_ITEMS
from stagepost.limit import MOST_LIMITS
from stagepost.quota import MOST as MOST_QUOTAS
from stagepost.retry import LOST_CLAIMS_LIMIT
from stagepost.scheduling import MOST as MOST_SCHEDULES
from stagepost.scope import KEY_LIMIT, NAME_LIMIT
from stagepost.signals import MOST_SIGNALS
from stagepost.task import EDGES, Status
from stagepost.waiting import MOST_BRANCHES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "concepts.md").read_text()
GUARANTEES = re.findall(r"^\| (\d+) \| \*\*.*$", PAGE, re.MULTILINE)
BOUNDS = {
    "items of a `ctx.map`": MOST_ITEMS,
    "children of a batch": MOST_CHILDREN,
    "branches of a handler that wait at once": MOST_BRANCHES,
    "signals that a task has not taken": MOST_SIGNALS,
    "claims lost in a row without progress": LOST_CLAIMS_LIMIT,
    "characters of a step's name": NAME_LIMIT,
    "characters of a step's key": KEY_LIMIT,
    "schedules of a tenant": MOST_SCHEDULES,
    "limits": MOST_LIMITS,
    "tenants with a quota of their own": MOST_QUOTAS,
}


def test_the_ways_from_state_to_state_are_the_codes() -> None:
    told = re.findall(r"^\| `([A-Z_]+)` \| `([A-Z_]+)` \| \S.* \|$", PAGE, re.MULTILINE)
    assert len(told) == len(set(told))
    assert set(told) == {(source, target) for source in EDGES for target in EDGES[source]}


def test_the_page_says_why_a_task_that_runs_is_queued_again() -> None:
    (why,) = re.findall(r"^\| `RUNNING` \| `QUEUED` \| (.*) \|$", PAGE, re.MULTILINE)
    events = (DOCS / "http-api.md").read_text()
    assert "`woken`: what it waited for is over, perhaps before it came to" in events
    assert all(cause in why for cause in ("drain", "died", "`woken`"))


def test_the_chart_shows_every_state() -> None:
    chart = PAGE.partition("## The states of a task\n```\n")[2].partition("```")[0]
    assert set(re.findall(r"\b[A-Z_]{4,}\b", chart)) == set(Status)


def test_the_guarantees_are_numbered() -> None:
    assert [int(number) for number in GUARANTEES] == list(range(1, len(GUARANTEES) + 1))
    assert GUARANTEES


@pytest.mark.parametrize("number", GUARANTEES)
def test_a_guarantee_names_tests_that_are_there(number: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {number} | **"))
    named = re.findall(r"\[[\w.]+\]\(([^)]+)\)((?:,? `test_\w+`)+)", row)
    assert named
    assert sum(tests.count("`test_") for _, tests in named) == row.count("`test_")
    for path, tests in named:
        there = set(re.findall(r"def (test_\w+)\(", (DOCS / path).read_text()))
        assert set(re.findall(r"test_\w+", tests)) <= there, path


def test_the_bounds_are_the_codes() -> None:
    table = PAGE.partition("### What is bounded")[2]
    told = re.findall(r"^\| (.+) \| ([\d,]+) \|$", table, re.MULTILINE)
    assert dict(told) == {name: f"{most:,}" for name, most in BOUNDS.items()}
