"""`stagepost init`: a folder with an app that runs, and its test."""

import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated, Final

import typer

from stagepost.cli.asking import Json
from stagepost.cli.exits import Usage
from stagepost.cli.output import console, print_json

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_FILES: Final = ("README.md", "app.py", "test_app.py")
_NEXT: Final = """
next:
  cd {folder}
  stagepost up --app app:app
and in another terminal:
  stagepost submit count-words --watch --input '{{"text": "a few words"}}'
its test:
  python -m unittest
"""


def init(
    name: Annotated[Path, typer.Argument(metavar="NAME", help="The folder to make.")],
    as_json: Json = False,
) -> None:
    """Make a folder with a handler that runs, its test and a README."""
    _check(name)
    templates = resources.files("stagepost.cli") / "scaffold"
    try:
        name.mkdir(parents=True, exist_ok=True)
        for file in _FILES:
            text = (templates / f"{file}.txt").read_text(encoding="utf-8")
            (name / file).write_text(Template(text).substitute(name=name.name), encoding="utf-8")
    except OSError as error:
        raise Usage(f"{name} can't be written ({error.strerror}).") from error
    if as_json:
        print_json({"folder": str(name), "files": list(_FILES)})
        return
    out = console()
    for file in _FILES:
        out.print(f"made {name / file}", soft_wrap=True)
    out.print(_NEXT.format(folder=name).rstrip(), soft_wrap=True)


def _check(name: Path) -> None:
    if not _NAME.fullmatch(name.name):
        raise Usage(f'"{name}" is no name for an app; use letters, digits, ".", "_" and "-".')
    if name.exists() and (not name.is_dir() or any(name.iterdir())):
        raise Usage(f"{name} is there already and not empty; choose another name.")
