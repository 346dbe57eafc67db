"""Ten minutes of overload against a provider: what of its limit is used, and how often it refuses.

`pytest -s` prints the figures.
"""

import random
import sys
from functools import partial
from typing import NamedTuple, get_args

import pytest

from limiters.simulation import START, Load, Simulation, limits_of
from stagepost.limit import Pace
from stagepost.llm.told import What
from stagepost.simulated.quota import Charge, Kind, Meter, Quota

MINUTES = 10


class Case(NamedTuple):
    """A provider's limits, and what its callers ask for."""

    requests: int
    tokens: int
    load: Load


CASES = {
    "tokens run out": Case(500, 200_000, Load()),
    "requests run out": Case(300, 1_000_000, Load()),
    "few requests": Case(60, 1_000_000, Load(takes=8_000)),
    "large requests": Case(500, 200_000, Load(prompt=(1_000, 4_000), answer=500)),
    "estimated too high": Case(500, 200_000, Load(prompt=(1_000, 2_000), safety=0.1)),
    "small provider": Case(20, 10_000, Load(prompt=(20, 60), answer=20, used=(0.5, 1.0))),
}


def simulated(kind: Kind, charge: Charge, case: Case, seed: int = 1) -> Simulation:
    quota = Quota(Meter(case.requests, kind), Meter(case.tokens, kind), charge=charge)
    limits = limits_of(case.requests, case.tokens, Pace(charge=charge))
    return Simulation(quota, limits, case.load, seed)


def share(simulation: Simulation, case: Case, since: float, until: float = MINUTES) -> float:
    """Of the limit that runs out first."""
    return max(
        simulation.used(What.REQUESTS, since, until) / case.requests,
        simulation.used(What.TOKENS, since, until) / case.tokens,
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("charge", get_args(Charge))
@pytest.mark.parametrize("kind", Kind)
def test_nearly_all_is_used_and_nothing_refused(kind: Kind, charge: Charge, name: str) -> None:
    simulation = simulated(kind, charge, CASES[name])
    simulation.run(MINUTES)
    used = share(simulation, CASES[name], since=1)
    refused = len(simulation.refused)
    sys.stdout.write(f"\n{kind}, {charge}, {name}: {used:.2%} used, {refused} refused")
    assert refused == 0
    assert used >= 0.98


@pytest.mark.parametrize("lowered", [0.8, 0.5, 0.3])
@pytest.mark.parametrize("charge", get_args(Charge))
@pytest.mark.parametrize("kind", Kind)
def test_a_limit_that_is_lowered_midway_costs_little_and_loses_no_call(
    kind: Kind, charge: Charge, lowered: float
) -> None:
    case, at = CASES["tokens run out"], 4.6
    simulation = simulated(kind, charge, case)
    simulation.at(START + int(at * 60_000), lambda: simulation.lend(lowered))
    simulation.run(MINUTES)
    lent = (at - 1 + (MINUTES - at) * lowered) / (MINUTES - 1)
    used = share(simulation, case, since=1) / lent
    refused = len(simulation.refused)
    sys.stdout.write(f"\n{kind}, {charge}, to {lowered:.0%}: {used:.2%} used, {refused} refused")
    assert used >= 0.95
    simulation.drain()
    assert simulation.unanswered == 0
    assert simulation.answered > 1_000


@pytest.mark.parametrize("charge", get_args(Charge))
@pytest.mark.parametrize("kind", Kind)
def test_a_limit_that_is_raised_again_is_used_again_and_never_more_than_ours(
    kind: Kind, charge: Charge
) -> None:
    case = CASES["tokens run out"]
    simulation = simulated(kind, charge, case)
    simulation.at(START + 180_000, lambda: simulation.lend(0.5))
    simulation.at(START + 360_000, lambda: simulation.lend(4.0))
    simulation.run(MINUTES)
    assert share(simulation, case, since=7.5) == pytest.approx(0.985, abs=0.015)
    assert simulation.refused == []


@pytest.mark.parametrize("charge", get_args(Charge))
@pytest.mark.parametrize("kind", Kind)
def test_a_provider_that_fails_for_a_while_loses_no_call(kind: Kind, charge: Charge) -> None:
    case = CASES["tokens run out"]
    simulation = simulated(kind, charge, case)
    # For ten seconds it lends next to nothing, and does not say so before it refuses.
    simulation.at(START + 200_000, lambda: simulation.lend(0.01))
    simulation.at(START + 210_000, lambda: simulation.lend(100))
    simulation.run(MINUTES)
    simulation.drain()
    assert simulation.unanswered == 0
    assert share(simulation, case, since=6) >= 0.97


@pytest.mark.parametrize("charge", get_args(Charge))
@pytest.mark.parametrize("kind", Kind)
def test_answers_that_tell_of_the_limits_as_they_were_do_little_harm(
    kind: Kind, charge: Charge
) -> None:
    case = Case(500, 200_000, Load(stale=True, takes=5_000))
    simulation = simulated(kind, charge, case)
    simulation.at(START + 280_000, lambda: simulation.lend(0.5))
    simulation.run(MINUTES)
    used, lent = share(simulation, case, since=1), (220 + 320 * 0.5) / 540
    refused = len(simulation.refused)
    sys.stdout.write(f"\n{kind}, {charge}, told late: {used / lent:.2%} used, {refused} refused")
    assert used >= 0.95 * lent
    assert refused <= 10
    simulation.drain()
    assert simulation.unanswered == 0


@pytest.mark.parametrize("charge", get_args(Charge))
@pytest.mark.parametrize("kind", Kind)
def test_nearly_all_is_used_though_the_providers_minute_is_never_learnt(
    kind: Kind, charge: Charge
) -> None:
    case = Case(500, 200_000, Load(stale=True, takes=5_000))
    simulation = simulated(kind, charge, case)
    simulation.run(MINUTES)
    used = share(simulation, case, since=1)
    sys.stdout.write(f"\n{kind}, {charge}, told late: {used:.2%} used")
    assert simulation.refused == []
    assert used >= 0.98


@pytest.mark.parametrize("charge", get_args(Charge))
@pytest.mark.parametrize("kind", Kind)
def test_the_living_go_on_where_processes_die(kind: Kind, charge: Charge) -> None:
    case = CASES["tokens run out"]
    simulation = simulated(kind, charge, case)
    for worker, second in ((0, 130), (3, 250)):
        simulation.at(START + second * 1_000, partial(simulation.kill, worker))
    simulation.run(MINUTES)
    assert simulation.refused == []
    assert share(simulation, case, since=1) >= 0.97


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_load_is_nothing_is_refused(seed: int) -> None:
    chance = random.Random(seed)
    least, answer = chance.choice([50, 200, 1_000]), chance.choice([10, 500, 3_000])
    load = Load(
        prompt=(least, least * chance.choice([1, 5])),
        answer=answer,
        used=(chance.choice([0.0, 0.5]), 1.0),
        takes=chance.choice([500, 3_000, 10_000]),
        late=chance.choice([20, 290]),
    )
    tokens = (load.prompt[1] + answer) * chance.choice([3, 10, 100])
    case = Case(chance.choice([20, 300]), tokens, load)
    simulation = simulated(chance.choice(list(Kind)), chance.choice(get_args(Charge)), case, seed)
    simulation.run(5)
    assert simulation.refused == []
    assert share(simulation, case, 1, 5) > 0.5
