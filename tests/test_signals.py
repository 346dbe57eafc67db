"""Which wait takes which signal, and who may send what."""

import pytest

from stagepost.errors import Conflict, NotAllowed
from stagepost.records import Scope
from stagepost.signals import (
    MOST_SIGNALS,
    OpenWait,
    Signal,
    can_send,
    check_sent,
    end_of,
    heard,
    listens_to,
    wakes,
)
from stagepost.task import SETTLED, Status
from stagepost.waiting import LimitFree, SignalSent
from support.tasks import a_task


def signal(number: int = 1, name: str = "go", sender: str = "ada", at: int = 0) -> Signal:
    return Signal(f"id {number}", name, str(number), sender, ("read", "submit"), at)


@pytest.mark.parametrize(
    ("approvers", "listens"),
    [
        (None, True),
        (("ada",), True),
        (("bob",), False),
        (("bob", "submit"), True),
        (("read",), True),
        (("operate",), False),
        (("operate", "ada"), True),
    ],
)
def test_approvers_are_users_and_roles(approvers: tuple[str, ...] | None, listens: bool) -> None:  # noqa: FBT001
    wait = OpenWait("wait", "go", None, approvers)
    assert listens_to(wait, "ada", ("read", "submit")) is listens


def test_a_roles_word_is_no_user() -> None:
    assert not listens_to(OpenWait("wait", "go", None, ("admin",)), "admin", ("read",))


def test_the_first_that_fits_is_heard() -> None:
    sent = [
        signal(1, "other"),
        signal(2, sender="bob"),
        signal(3, at=9),
        signal(4, at=3),
        signal(5),
    ]
    assert heard(OpenWait("wait", "go"), sent) == sent[1]
    assert heard(OpenWait("wait", "go", None, ("ada",)), sent) == sent[2]
    assert heard(OpenWait("wait", "go", 9, ("ada",)), sent) == sent[3], "in time"
    assert heard(OpenWait("wait", "stop"), sent) is None
    assert heard(OpenWait("wait"), sent) is None, "a sleep hears nothing"


def test_a_wait_ends_with_what_it_heard_or_at_its_time() -> None:
    wait = OpenWait("wait", "go", 10)
    assert end_of(wait, [], 9) is None
    assert end_of(wait, [], 10) == (None, "[]")
    assert end_of(wait, [signal(7, at=9)], 20) == (signal(7, at=9), '[7,["ada",9]]')
    assert end_of(wait, [signal(7, at=10)], 20) == (None, "[]")
    assert end_of(OpenWait("wait", "go"), [], 10**15) is None


@pytest.mark.parametrize("status", Status)
def test_what_is_over_hears_nothing(status: Status) -> None:
    task = a_task(status=status)
    if status in SETTLED:
        with pytest.raises(Conflict, match=status):
            check_sent(task, signal(), [], [])
    else:
        check_sent(task, signal(), [], [])


def test_others_are_refused_only_what_is_waited_for_and_by_all_who_wait() -> None:
    task = a_task(status=Status.WAITING)
    strict, open_to_all = OpenWait("1", "go", None, ("bob",)), OpenWait("2", "go")
    with pytest.raises(NotAllowed):
        check_sent(task, signal(), [strict], [])
    check_sent(task, signal(), [strict, open_to_all], [])
    check_sent(task, signal(name="other"), [strict], [])
    check_sent(task, signal(sender="bob"), [strict], [])


def test_a_task_keeps_so_many() -> None:
    task = a_task(status=Status.RUNNING)
    check_sent(task, signal(), [], [signal()] * (MOST_SIGNALS - 1))
    with pytest.raises(Conflict, match="100 signals"):
        check_sent(task, signal(), [], [signal()] * MOST_SIGNALS)


def test_who_is_asked_by_name_may_answer_without_seeing_the_task() -> None:
    task = a_task(tenant="acme", user="ada")
    waits = [OpenWait("1", "go", None, ("bob", "operate"))]
    bobs, eves = Scope("acme", "bob"), Scope("acme", "eve")
    assert can_send(task, Scope("acme"), signal(sender="eve"), waits)
    assert can_send(task, bobs, signal(sender="bob"), waits)
    assert not can_send(task, eves, signal(sender="eve"), waits)
    assert not can_send(task, bobs, signal(name="other", sender="bob"), waits)
    assert not can_send(task, bobs, signal(sender="bob"), [])
    assert not can_send(task, Scope("globex", "bob"), signal(sender="bob"), waits)


def test_only_what_a_parked_task_waits_for_wakes_it() -> None:
    waits = [OpenWait("1", "go"), OpenWait("2", "stop", 5)]
    parked = a_task(status=Status.WAITING, conditions=(SignalSent("go", "1"), LimitFree("x", 0.0)))
    assert wakes(parked, signal(), waits)
    assert not wakes(parked, signal(name="stop"), waits), "that branch does not wait any more"
    assert not wakes(parked, signal(), [OpenWait("1", "go", 5, ("bob",))])
    assert not wakes(a_task(status=Status.RUNNING), signal(), waits)
