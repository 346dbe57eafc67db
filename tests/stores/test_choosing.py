"""Whose turn it is, and what may start: the pure part of a claim."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stagepost.choice import LaneTurns
from stagepost.rules import Rule, RuleKind, Rules, Running
from stagepost.stores import choosing
from stagepost.stores.choosing import STRIDE, Queue, Room, Row, Standing

LANE = "interactive"
ROOMY = 10**9

weights = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=2, max_size=6)


def rows(tenant: str, many: int, type_name: str = "review") -> list[Row]:
    """Ready tasks of a tenant."""
    return [[LANE, tenant, type_name, number, f"{tenant}{number}", ROOMY] for number in range(many)]


def offered(tenants: dict[str, int], most: int) -> dict[Queue, list[Row]]:
    return {Queue(LANE, tenant, "review"): rows(tenant, most) for tenant in tenants}


def take(standing: Standing, tenants: dict[str, int], slots: int) -> Counter[str]:
    """One claim of a lane in which every tenant has more than enough."""
    ordered = choosing.in_fair_order(offered(tenants, slots), {LANE: standing}, tenants)
    chosen = ordered[LANE][:slots]
    taken = choosing.taken_by_tenant(chosen)[LANE]
    standing.advance(taken, tenants)
    return taken


@given(weights, st.lists(st.integers(1, 12), min_size=1, max_size=40))
def test_shares_keep_to_the_weights(tenants: dict[str, int], claims: list[int]) -> None:
    standing, taken = Standing(), Counter[str]()
    for slots in claims:
        taken += take(standing, tenants, slots)
    total, whole = taken.total(), sum(tenants.values())
    assert total == sum(claims)
    for tenant, weight in tenants.items():
        assert abs(taken[tenant] - total * weight / whole) < len(tenants)


@given(weights, st.integers(1, 50), st.integers(1, 8))
def test_a_newcomer_is_served_at_once_and_gets_no_arrears(
    tenants: dict[str, int], before: int, slots: int
) -> None:
    standing = Standing()
    for _ in range(before):
        take(standing, tenants, slots)
    everybody = {**tenants, "newcomer": 1}
    first = Counter[str]()
    for _ in range(len(everybody)):
        first += take(standing, everybody, 1)
    heaviest = max(tenants.values())
    # With weight 1 it has one turn and is then as far as the others.
    assert first["newcomer"] == 1 or heaviest > 1
    assert first["newcomer"] <= 2


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50)), max_size=30, unique=True))
def test_a_tenants_types_are_merged_by_score(tasks: list[tuple[str, int]]) -> None:
    found: dict[Queue, list[Row]] = {}
    for type_name, score in sorted(tasks, key=lambda task: task[1]):
        row = [LANE, "acme", type_name, score, f"{type_name}{score}", ROOMY]
        found.setdefault(Queue(LANE, "acme", type_name), []).append(row)
    ordered = choosing.in_fair_order(found, {}, {}).get(LANE, [])
    assert [(row[3], row[4]) for row in ordered] == sorted((s, f"{t}{s}") for t, s in tasks)


def test_reads_are_bounded_by_the_slots() -> None:
    for tenants in (1, 2, 4, 10, 100):
        queues = [Queue(LANE, f"t{number}", "review") for number in range(tenants)]
        wanted = choosing.reads(queues, ["review"], 8, None)
        assert sum(wanted.values()) <= max(4 * 8, tenants)
        assert sum(wanted.values()) >= 8


def test_types_that_are_not_served_are_not_read() -> None:
    queues = [Queue(LANE, "acme", "review"), Queue(LANE, "acme", "foreign")]
    assert choosing.reads(queues, ["review"], 8, None) == {queues[0]: 8}


def test_a_queue_without_room_is_not_read_and_one_with_little_only_as_far() -> None:
    rules = Rules(
        [
            Rule(RuleKind.TENANT, "full", concurrency=1),
            Rule(RuleKind.TYPE, "scan", concurrency=5),
            Rule(RuleKind.TYPE, "stopped", paused=True),
        ]
    )
    running = [Running(LANE, "full", "review", 1), Running(LANE, "acme", "scan", 3)]
    room = Room(rules, {}, running)
    names = [("full", "review"), ("acme", "scan"), ("acme", "stopped"), ("acme", "review")]
    queues = [Queue(LANE, *name) for name in names]
    wanted = choosing.reads(queues, {"review", "scan", "stopped"}, 8, room)
    assert wanted == {queues[1]: 2, queues[3]: 8}


def test_all_versions_of_a_type_share_its_room() -> None:
    rules = Rules([Rule(RuleKind.TYPE, "stopped", paused=True)])
    room = Room(rules, {"scan": 3}, [Running(LANE, "acme", "scan", 1)])
    assert room.left(Queue(LANE, "acme", "stopped/2")) == 0
    assert room.left(Queue(LANE, "acme", "scan/2")) == 2
    assert room.admits((LANE, "acme", "scan/2", 0, "a", ROOMY))
    assert room.admits((LANE, "acme", "scan", 0, "b", ROOMY))
    assert not room.admits((LANE, "acme", "scan/1", 0, "c", ROOMY))


def test_what_is_not_admitted_spends_no_turn() -> None:
    turns = LaneTurns({LANE: 1, "batch": 1})
    room = Room(Rules([Rule(RuleKind.TENANT, "acme", concurrency=2)]), {})
    batch: list[Row] = [["batch", *row[1:]] for row in rows("bolt", 9)]
    chosen = turns.choose({LANE: rows("acme", 9), "batch": batch}, 6, room.admits)
    assert Counter(row[1] for row in chosen) == {"acme": 2, "bolt": 4}
    # Lanes are as far as what they were given.
    offer: dict[str, list[Row]] = {LANE: rows("other", 9), "batch": batch}
    after = turns.choose(offer, 4)
    assert Counter(row[0] for row in after)[LANE] >= 2


def test_a_types_rule_goes_before_its_code() -> None:
    queue = Queue(LANE, "acme", "review")
    assert Room(Rules(), {"review": 3}).left(queue) == 3
    rule = Rule(RuleKind.TYPE, "review", concurrency=7)
    assert Room(Rules([rule]), {"review": 3}).left(queue) == 7
    assert choosing.room_for(Rules(), {}) is None


def test_the_spent_step_is_the_weights_part_of_a_stride() -> None:
    standing = Standing()
    standing.advance({"light": 1, "heavy": 1}, {"heavy": 4})
    assert standing.places == {"light": STRIDE, "heavy": STRIDE // 4}
    assert standing.latest == 0
