"""`make test` looks once more at what failed, but never at a finding."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_tests.py"

ONCE = """
from pathlib import Path

def test_that_fails_once():
    been = Path(__file__).with_name("been")
    if not been.exists():
        been.touch()
        raise {error}

class GuaranteeBroken(AssertionError):
    pass
"""


def run(folder: Path, *suites: str) -> subprocess.CompletedProcess[str]:
    for number, suite in enumerate(suites):
        (folder / f"suite_{number}").mkdir()
        (folder / f"suite_{number}" / f"test_{number}.py").write_text(suite)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, str(SCRIPT)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_what_passes_is_run_once(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_it(): pass")
    assert done.returncode == 0
    assert "again" not in done.stdout


def test_what_passes_the_second_time_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, ONCE.format(error="TimeoutError"))
    assert done.returncode == 0
    _, named = done.stdout.split("UNSTEADY")
    assert "suite_0/test_0.py::test_that_fails_once" in named


def test_what_fails_twice_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_it(): assert 0", ONCE.format(error="TimeoutError"))
    assert done.returncode == 1
    assert "UNSTEADY" not in done.stdout


@pytest.mark.parametrize("error", ["GuaranteeBroken", "AssertionError('Falsifying example')"])
def test_a_finding_is_no_accident(tmp_path: Path, error: str) -> None:
    done = run(tmp_path, ONCE.format(error=error))
    assert done.returncode == 1
    assert "Looking again" not in done.stdout


def test_where_many_fail_the_machine_is_not_to_blame(tmp_path: Path) -> None:
    done = run(tmp_path, *[ONCE.format(error="TimeoutError")] * 4)
    assert done.returncode == 1
    assert "Looking again" not in done.stdout
