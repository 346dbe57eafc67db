"""`stagepost workers`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.listing import show_rows
from stagepost.cli.output import age, print_json
from stagepost.cli.rows import Columns
from stagepost.remote import Remote

if TYPE_CHECKING:
    from stagepost.web.fleet_schemas import Worker


_WORKERS = Columns(
    ("WORKER", "STATE", "RUNNING", "SLOTS", "LANES", "AGE", "LAST BEAT", "VERSION"),
    narrow=("WORKER", "STATE", "RUNNING", "SLOTS"),
    below=("LANES", "AGE", "LAST BEAT", "VERSION"),
)


def workers(url: Url = None, as_json: Json = False) -> None:
    """Show the workers."""

    async def work(remote: Remote) -> "Sequence[Worker]":
        return await remote.fleet.workers()

    found = ask(url, work)
    if as_json:
        print_json({"items": found, "next": None})
        return
    show_rows(_WORKERS, map(_worker, found), "No workers.")


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
