"""The file of `export` lines that points Stagepost at the services that run."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from stagepost.devservices.service import Place, Service
from stagepost.devservices.state import write_private


def settings(folder: Path, running: Sequence[tuple[Service, Place]]) -> dict[str, str]:
    """What the running services can give; broker and blobs need none.

    The folder of blobs is made here, private to us.
    """
    blobs = folder / "blobs"
    blobs.mkdir(mode=0o700, exist_ok=True)
    named = {service.url(place): service.settings for service, place in running}
    given = {setting: url for url, names in named.items() for setting in names}
    return {**given, "STAGEPOST_BROKER": "direct", "STAGEPOST_BLOBS": blobs.as_uri()}


def path(folder: Path) -> Path:
    """Where the file is, if any service runs."""
    return folder / "env"


def write(folder: Path, values: Mapping[str, str]) -> None:
    """Replace the file; it is private because it holds the passwords."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(values.items())]
    write_private(path(folder), "".join(lines))


def read(folder: Path) -> dict[str, str]:
    """What `write` wrote, for programs that are no shell."""
    lines = path(folder).read_text(encoding="utf-8").splitlines()
    words = [shlex.split(line)[1] for line in lines]
    return dict(word.split("=", 1) for word in words)
