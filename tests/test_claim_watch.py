"""How long calls wait for limits, and what is told of them when their claim is over."""

import math
from typing import Any

import pytest

from stagepost.calls import CallEnd, CallKey, NewCall
from stagepost.claim_watch import ClaimWatch
from stagepost.errors import CallFailed
from stagepost.failure import FailureKind
from stagepost.journal import CallWait, GotCall, WantedCall
from stagepost.limiter import Reservation, Verdict
from stagepost.limiters.memory import MemoryLimiter
from stagepost.llm.asking import Asking
from stagepost.llm.catalogue import Catalogue
from stagepost.llm.estimate import Size
from stagepost.llm.lending import Lending, Lent
from stagepost.llm.provider import Answer, ChatRequest, Finish, Form, Message, Role, Timeouts
from stagepost.llm.reserving import Need
from stagepost.testing import FakeClock
from support.claims import CLAIM
from support.spans import Recorder

MODELS = Catalogue.parse('[providers.main]\nkind = "openai"\n')
MODEL = MODELS.model("main/large")
KEY, OTHER = CallKey("a", "hash", 0), CallKey("b", "hash", 0)
LENT = Lent(Reservation("r", []), Size(0, 0, 0), Need(1, 1), 0)
ANSWER = Answer("Yes.", Finish.STOP)


class Listener:
    def __init__(self) -> None:
        self.waits: list[float] = []
        self.rejections: list[tuple[str, str]] = []

    def waited(self, model: str, seconds: float) -> None:
        assert model == MODEL.name
        self.waits.append(round(seconds, 6))

    def sent(self, type_name: str, model: str) -> None:
        raise AssertionError

    def ended(self, type_name: str, call: NewCall, end: CallEnd) -> None:
        raise AssertionError

    def rejected(self, type_name: str, model: str) -> None:
        self.rejections.append((type_name, model))


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        lending = Lending(MemoryLimiter(self.clock))
        self.asking = Asking(MODELS, lambda _: pytest.fail("nobody is asked"), lending, self.clock)
        self.listener = Listener()
        self.asking.watchers.listen(self.listener)
        self.watch = ClaimWatch(CLAIM, self.asking)

    def asked(self, key: CallKey, took: float, lent: Lent | Verdict) -> None:
        """The limits are asked for, and answer after so many seconds."""
        began = self.clock.monotonic()
        self.clock.advance(took)
        self.watch.limits(key, MODEL, began, lent)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr("stagepost.llm.spans.get_tracer", lambda *_: found)
    return found


@pytest.fixture
def bench(recorder: Recorder) -> Bench:
    return Bench()


def later(seconds: float) -> Verdict:
    return Verdict(granted=False, wait=seconds, limit="model:main/large:requests")


def wanted(form: Form | None = None) -> WantedCall:
    request = ChatRequest("best", (Message(Role.USER, "?"),), form=form)
    return WantedCall("a", 0, request, Timeouts())


def test_a_wait_goes_from_the_first_question_to_the_grant(bench: Bench) -> None:
    bench.asked(KEY, 0, LENT)
    assert bench.listener.waits == [0]
    bench.asked(KEY, 5, later(60))
    bench.asked(OTHER, 1, LENT)
    bench.clock.advance(10)
    bench.asked(KEY, 5, later(40))
    assert bench.listener.waits == [0, 1]
    bench.clock.advance(20)
    bench.asked(KEY, 3, LENT)
    assert bench.listener.waits == [0, 1, 5 + 1 + 10 + 5 + 20 + 3]
    bench.watch.close()
    assert len(bench.listener.waits) == 3


def test_one_that_goes_on_without_a_worker_lasts_until_it_was_told_to_come(bench: Bench) -> None:
    bench.asked(KEY, 5, later(60))
    bench.clock.advance(2)
    bench.watch.close()
    bench.watch.close()
    assert bench.listener.waits == [65]


def test_one_that_ends_by_a_failure_is_none(bench: Bench) -> None:
    bench.watch.operation(KEY, wanted(), MODEL)
    bench.asked(KEY, 5, later(math.inf))
    bench.watch.failed(KEY, CallFailed("No.", kind=FailureKind.BUDGET))
    bench.watch.close()
    assert bench.listener.waits == []


def test_an_operation_goes_on_until_its_answer(bench: Bench, recorder: Recorder) -> None:
    first = bench.watch.operation(KEY, wanted(), MODEL)
    bench.watch.told(KEY, CallWait(7.0, "a limit"))
    assert bench.watch.operation(KEY, wanted(), MODEL) is first
    bench.watch.told(KEY, GotCall("id", MODEL.name, ANSWER))
    assert bench.watch.operation(KEY, wanted(), MODEL) is not first
    one, other = recorder.operations
    assert (one.ends, len(one.events), other.ends) == (1, 1, 0)
    bench.watch.close()
    assert (one.ends, other.ends) == (1, 1)


def test_what_is_left_running_behind_the_claim_tells_nothing_more(
    bench: Bench, recorder: Recorder
) -> None:
    told: tuple[Any, ...] = (CallWait(7.0, "a limit"), GotCall("id", MODEL.name, ANSWER))
    bench.watch.operation(KEY, wanted(), MODEL)
    bench.watch.close()
    for each in told:
        bench.watch.told(KEY, each)
    bench.watch.failed(KEY, CallFailed("No.", kind=FailureKind.BUG))
    (span,) = recorder.operations
    assert (span.ends, span.events, span.attributes.get("error.type")) == (1, [], None)


def test_a_rejection_names_the_model_that_has_answered(bench: Bench) -> None:
    got = GotCall("id", MODEL.name, ANSWER)
    bench.watch.taken(wanted(Form("Verdict", {})), got)
    bench.watch.rejected("id")
    bench.watch.taken(wanted(), got)
    bench.watch.rejected("id")
    assert bench.listener.rejections == [("a-type", MODEL.name), ("a-type", "")]


def test_who_stops_listening_is_told_nothing(bench: Bench) -> None:
    another = Listener()
    stop = bench.asking.watchers.listen(another)
    bench.asked(KEY, 1, LENT)
    stop()
    stop()
    bench.asked(KEY, 2, LENT)
    assert (another.waits, bench.listener.waits) == ([1], [1, 2])
