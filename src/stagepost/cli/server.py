"""`stagepost lanes` and `workers`: what the server does now."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.listing import show_rows
from stagepost.cli.output import age, duration, print_json, show, table
from stagepost.cli.rows import Columns
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.schemas import Lane, Worker


_WORKERS = Columns(
    ("WORKER", "STATE", "RUNNING", "SLOTS", "LANES", "AGE", "LAST BEAT", "VERSION"),
    narrow=("WORKER", "STATE", "RUNNING", "SLOTS"),
    below=("LANES", "AGE", "LAST BEAT", "VERSION"),
)


def lanes(url: Url = None, as_json: Json = False) -> None:
    """Show the lanes: what waits, what runs, how fast."""

    async def work(remote: Remote) -> "Sequence[Lane]":
        return await remote.lanes()

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
        return
    columns = ("LANE", "QUEUED", "RUNNING", "OLDEST", "IN/MIN", "OUT/MIN", "EMPTY IN", "")
    show(table(columns, map(_lane, found)))


def workers(url: Url = None, as_json: Json = False) -> None:
    """Show the workers."""

    async def work(remote: Remote) -> "Sequence[Worker]":
        return await remote.workers()

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
        return
    show_rows(_WORKERS, map(_worker, found), "No workers.")


def _lane(lane: "Lane") -> Sequence[object]:
    return (
        lane["name"],
        lane["queued"],
        lane["running"],
        duration(lane["oldestQueuedSeconds"]),
        lane["arrivalsPerMinute"],
        lane["completionsPerMinute"],
        duration(lane["etaSeconds"]),
        "paused" if lane["paused"] else "",
    )


def _worker(worker: "Worker") -> Sequence[object]:
    return (
        worker["id"],
        worker["state"],
        worker["running"],
        worker["slots"],
        ", ".join(worker["lanes"]),
        age(worker["startedAt"]),
        age(worker["lastBeat"]),
        worker["version"],
    )
