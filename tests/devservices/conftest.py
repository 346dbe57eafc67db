"""A scratch folder of services, and the command as a person runs it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

STAGEPOST = str(Path(sys.executable).with_name("stagepost"))


@dataclass(frozen=True)
class Shell:
    """`stagepost dev services` on one folder."""

    folder: Path

    def popen(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [STAGEPOST, "dev", "services", *words, "--dir", str(self.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, expect: int = 0) -> "subprocess.CompletedProcess[str]":
        with self.popen(*words) as process:
            out, err = process.communicate(timeout=600)
        assert process.returncode == expect, (out, err)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def report(self, *words: str) -> dict[str, dict[str, Any]]:
        answer = orjson.loads(self.run(*words, "--json").stdout)
        return {row["name"]: row for row in answer["services"]}

    def exports(self, path: str | None = None) -> dict[str, str]:
        """The variables that a shell has after it sourced the file."""
        source = path or str(self.folder / "env")
        command = ["/bin/sh", "-c", '. "$0" && env -0', source]
        out = subprocess.run(command, env={}, check=True, capture_output=True, text=True).stdout
        pairs = (line.split("=", 1) for line in out.split("\0") if "=" in line)
        return {name: value for name, value in pairs if name.startswith("STAGEPOST_")}


@pytest.fixture
def shell() -> Iterator[Shell]:
    yield from _shell()


@pytest.fixture(scope="module")
def running() -> Iterator[Shell]:
    """Both services, started once for the tests of one module that do not harm them."""
    for shell in _shell():
        shell.run("start")
        yield shell


def _shell() -> Iterator[Shell]:
    # Not tmp_path: root's is closed to the accounts that the services run as.
    parent = Path(tempfile.mkdtemp(prefix="stagepost-services-"))
    parent.chmod(0o711 if os.geteuid() == 0 else 0o700)
    shell = Shell(parent / "services")
    yield shell
    shell.run("stop")
    shutil.rmtree(parent)
