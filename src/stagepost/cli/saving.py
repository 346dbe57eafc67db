"""A task's result and artifacts, written into a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stagepost.cli.exits import Usage
from stagepost.remote import Remote, local_name

if TYPE_CHECKING:
    from stagepost.web.schemas import ArtifactItem, WholeTask

_RESULT: Final = "result.json"


async def save_all(
    remote: Remote, task: "WholeTask", artifacts: Sequence["ArtifactItem"], folder: Path
) -> list[Path]:
    """Write the files; returns where they lie. Raises Usage when the folder can't be written."""
    wanted: dict[str, str] = {}
    if task["status"] == "COMPLETED":
        wanted[_RESULT] = f"/api/v1/tasks/{task['taskId']}/result"
    for artifact in artifacts:
        wanted[local_name(artifact["name"], wanted)] = artifact["url"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in wanted.items():
            await remote.download(path, folder / name)
    except OSError as error:
        raise Usage(f"{folder} can't be written ({error.strerror}).") from error
    return [folder / name for name in wanted]
