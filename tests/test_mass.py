"""How fast a change of many tasks goes, and when it ends."""

from dataclasses import replace
from typing import Any

import pytest

from stagepost import mass
from stagepost.mass import End, Kind, MassChange, Progress, State
from stagepost.records import Scope
from stagepost.task import Status

MINUTE = 60_000


def change(kind: Kind = Kind.REDRIVE, **changes: Any) -> MassChange:
    return MassChange(id="id", kind=kind, scope=Scope("acme"), by="ada", **changes)


def failed(kind: str, many: int = 1) -> list[End]:
    return [End("task", Status.DEAD_LETTER, kind)] * many


def completed(many: int = 1) -> list[End]:
    return [End("task", Status.COMPLETED, None)] * many


def test_a_redrive_keeps_a_window_of_tasks_on_their_way() -> None:
    assert mass.allowance(change(), Progress(), 0, 0) == mass.WINDOW
    assert mass.allowance(change(), Progress(sent=500), 99, 0) == 1
    assert mass.allowance(change(), Progress(sent=500), 100, 0) == 0
    for kind in (Kind.CANCEL, Kind.DISCARD):
        assert mass.allowance(change(kind), Progress(sent=10**6), 0, 0) == mass.PAGE
    assert mass.allowance(change(), Progress(state=State.STOPPED), 0, 0) == 0
    assert mass.allowance(change(), Progress(state=State.DONE), 0, 0) == 0


@pytest.mark.parametrize("per_minute", [1, 7, 60, 600, 6_000])
@pytest.mark.parametrize("every", [250, 1_000, 7_000])
def test_a_paced_redrive_sends_so_many_a_minute(per_minute: int, every: int) -> None:
    paced, progress, sent_at = change(per_minute=per_minute), Progress(), []
    for now in range(0, 10 * MINUTE, every):
        many = mass.allowance(paced, progress, 0, now)
        sent_at += [now] * many
        progress = mass.sent(paced, progress, "", many, now)
    burst = 2 + per_minute * 2_000 // MINUTE
    for start in range(0, 9 * MINUTE, 997):
        in_a_minute = sum(start <= at < start + MINUTE for at in sent_at)
        assert in_a_minute <= per_minute + burst
    if every <= 1_000 and per_minute <= 600:
        assert len(sent_at) >= 9 * per_minute


def test_after_an_outage_a_paced_redrive_makes_nothing_up() -> None:
    paced = change(per_minute=60)
    progress = mass.sent(paced, Progress(), "", 1, 0)
    assert mass.allowance(paced, progress, 0, 3_600_000) <= 3


def test_canaries_go_first_and_alone() -> None:
    careful = change(canary=3)
    assert mass.allowance(careful, Progress(), 0, 0) == 3
    for way, sent in ((3, 3), (1, 3)):
        assert mass.allowance(careful, Progress(sent=sent), way, 0) == 0
    # One of them was left out; another one goes instead.
    assert mass.allowance(careful, Progress(sent=2), 2, 0) == 1
    assert mass.allowance(careful, Progress(sent=3, completed=3), 0, 0) == mass.WINDOW
    assert mass.allowance(careful, Progress(sent=103), 100, 0) == 0


def test_one_canary_that_fails_again_stops_it_before_the_others_are_sent() -> None:
    careful = change(canary=3, per_minute=1)
    one = mass.ended(mass.sent(careful, Progress(matched=9), "a", 1, 0), failed("BUG"))
    judged = mass.judged(careful, one, 0, 0, exhausted=False)
    assert (judged.state, judged.sent) == (State.STOPPED, 1)


def test_one_canary_that_fails_again_stops_it() -> None:
    careful = change(canary=3)
    progress = mass.ended(Progress(sent=3), [*completed(2), *failed("BUG")])
    judged = mass.judged(careful, progress, 0, 7, exhausted=False)
    assert (judged.state, judged.ended_at, judged.open) == (State.STOPPED, 7, False)
    assert judged.why == "1 of 3 canaries failed again, the last with BUG"
    later = mass.ended(Progress(sent=4, completed=3), failed("BUG"))
    assert mass.judged(careful, later, 0, 7, exhausted=False).state is State.RUNNING


@pytest.mark.parametrize(
    ("ends", "stops"),
    [
        (failed("BUG", 5), True),
        (failed("BUG", 4), False),
        ([*failed("BUG", 5), *completed(5)], False),
        ([*failed("BUG", 5), *completed(4)], True),
        ([*failed("BUG", 5), *failed("TIMEOUT", 5)], False),
        ([*completed(1_000), *failed("BUG", 11)], True),
        ([*completed(1_000), *failed("BUG", 10)], False),
        ([End("task", Status.CANCELLED, None)] * 50, False),
        ([End("task", None, None)] * 50, False),
    ],
)
def test_the_same_kind_of_failure_again_and_again_stops_it(ends: list[End], *, stops: bool) -> None:
    progress = mass.ended(Progress(sent=len(ends)), ends)
    judged = mass.judged(change(), progress, 3, 0, exhausted=False)
    assert (judged.state is State.STOPPED) is stops
    # What is on its way is counted all the same.
    assert judged.open
    if stops:
        assert judged.why is not None
        assert judged.why.endswith("failed again with BUG")


def test_a_look_ends_at_its_bound_and_goes_on_behind_it() -> None:
    assert mass.looked(["b", "c"], "f", "a", 2) == mass.Found(["b", "c"], "c", exhausted=False)
    assert mass.looked(["b"], "f", "a", 2) == mass.Found(["b"], "f", exhausted=False)
    assert mass.looked([], "f", "a", 2) == mass.Found([], "f", exhausted=False)
    assert mass.looked(["b"], None, "a", 2) == mass.Found(["b"], "b", exhausted=True)
    assert mass.looked([], None, "a", 2) == mass.Found([], "a", exhausted=True)


def test_named_tasks_come_in_the_order_of_their_ids() -> None:
    named = change(task_ids=("a", "b", "c"))
    assert mass.chosen(named, "", 2) == mass.Found(["a", "b"], "b", exhausted=False)
    assert mass.chosen(named, "b", 2) == mass.Found(["c"], "c", exhausted=True)
    assert mass.chosen(named, "c", 2) == mass.Found([], "c", exhausted=True)


def test_ends_are_counted() -> None:
    ends = [*completed(2), *failed("BUG", 3), End("task", Status.CANCELLED, None)]
    progress = mass.ended(Progress(completed=1, failed=1), ends)
    assert (progress.completed, progress.failed) == (3, 4)
    assert progress.recent == ("", "", "BUG", "BUG", "BUG")
    assert len(mass.ended(progress, completed(50)).recent) == mass.RECENT


def test_it_is_done_when_there_is_none_left_and_none_on_its_way() -> None:
    some = Progress(sent=5)
    assert mass.judged(change(), some, 0, 9, exhausted=False) == some
    assert mass.judged(change(), some, 1, 9, exhausted=True) == some
    done = mass.judged(change(), some, 0, 9, exhausted=True)
    assert done == replace(some, state=State.DONE, ended_at=9, open=False)


def test_what_has_ended_is_not_stopped() -> None:
    done = Progress(state=State.DONE, ended_at=1, open=False)
    assert mass.stopped(done, "by ada", 2) == done
    halted = mass.stopped(Progress(), "by ada", 2)
    assert mass.stopped(halted, "by bob", 3) == halted
    assert mass.judged(change(), halted, 0, 4, exhausted=True) == replace(halted, open=False)
