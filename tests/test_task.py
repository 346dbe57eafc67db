"""The transition table, written out a second time."""

from itertools import product

import pytest

from stagepost.errors import IllegalTransition
from stagepost.task import EDGES, FINAL, SETTLED, Status, sources
from support.tasks import a_task

ARCHITECTURE = {
    ("PENDING", "QUEUED"),
    ("QUEUED", "RUNNING"),
    ("RUNNING", "COMPLETED"),
    ("RUNNING", "FAILED"),
    ("RUNNING", "WAITING"),
    ("RUNNING", "QUEUED"),
    ("RUNNING", "CANCELLED"),
    ("WAITING", "QUEUED"),
    ("FAILED", "QUEUED"),
    ("FAILED", "DEAD_LETTER"),
    ("PENDING", "DEAD_LETTER"),
    ("QUEUED", "DEAD_LETTER"),
    ("WAITING", "DEAD_LETTER"),
    ("DEAD_LETTER", "QUEUED"),
    ("PENDING", "CANCELLED"),
    ("QUEUED", "CANCELLED"),
    ("WAITING", "CANCELLED"),
    ("FAILED", "CANCELLED"),
    ("DEAD_LETTER", "CANCELLED"),
}


def test_the_table_has_the_edges_of_the_architecture_and_no_other() -> None:
    edges = {(source.value, target.value) for source in EDGES for target in EDGES[source]}
    assert edges == ARCHITECTURE


def test_every_status_has_a_row() -> None:
    assert set(EDGES) == set(Status)


@pytest.mark.parametrize(("source", "target"), list(product(Status, Status)))
def test_a_task_follows_the_table(source: Status, target: Status) -> None:
    task = a_task(status=source)
    if (source.value, target.value) in ARCHITECTURE:
        assert task.to(target).status is target
        assert source in sources(target)
    else:
        with pytest.raises(IllegalTransition, match=f"from {source} to {target}"):
            task.to(target)
        assert source not in sources(target)


def test_what_is_final_has_no_way_on() -> None:
    assert {status for status in Status if not EDGES[status]} == FINAL
    assert {Status.COMPLETED, Status.CANCELLED, Status.DEAD_LETTER} == SETTLED


def test_a_change_of_status_takes_its_other_changes_along() -> None:
    queued = a_task().to(Status.QUEUED, pooled_at=7)
    assert (queued.status, queued.pooled_at) == (Status.QUEUED, 7)


def test_a_task_without_a_claim_has_no_lease() -> None:
    assert a_task().lease is None
    running = a_task(status=Status.RUNNING, fence=3, lease_id="lease")
    assert running.lease is not None
    assert (running.lease.task_id, running.lease.fence) == (running.id, 3)


def test_progress_of_a_claim_counts_for_that_claim_only() -> None:
    assert a_task(fence=2, saved_fence=2).progressed
    assert not a_task(fence=3, saved_fence=2).progressed
