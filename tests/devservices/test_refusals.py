"""Each refusal is one sentence with its remedy, and touches nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from devservices.conftest import Shell
from stagepost.devservices import packages, state
from stagepost.devservices.errors import NotAnswering, Refused
from stagepost.devservices.redis import Redis

# The first start on a machine installs packages.
pytestmark = pytest.mark.timeout(900)


class Missing(Redis):
    package = "no-such-package-stagepost"

    def installed(self) -> bool:
        return False


def test_an_unknown_service_is_a_usage_error(shell: Shell) -> None:
    failed = shell.run("start", "oracle", expect=2)
    assert "oracle" in failed.stderr
    assert "postgres, redis" in failed.stderr.replace("│", "").replace("\n", "")


def test_a_folder_with_other_files_is_refused_and_left_as_it_is(shell: Shell) -> None:
    shell.folder.mkdir(mode=0o755)
    (shell.folder / "thesis.tex").write_text("mine")
    failed = shell.run("start", expect=4)
    assert len(failed.stderr.splitlines()) == 1
    assert "other files" in failed.stderr
    assert [path.name for path in shell.folder.iterdir()] == ["thesis.tex"]
    assert shell.folder.stat().st_mode & 0o777 == 0o755
    (shell.folder / "thesis.tex").unlink()


def test_a_state_file_that_is_not_ours_is_refused(shell: Shell) -> None:
    shell.run("stop")
    for text in ("not json", '{"version": 1, "services": {"redis": {}}}', '{"version": 2}'):
        (shell.folder / "state.json").write_text(text)
        failed = shell.run("status", expect=4)
        assert len(failed.stderr.splitlines()) == 1
        assert "state.json" in failed.stderr
    (shell.folder / "state.json").unlink()


def test_data_without_its_state_is_never_overwritten(shell: Shell) -> None:
    shell.run("start", "redis")
    shell.run("stop", "redis")
    state = (shell.folder / "state.json").rename(shell.folder / "elsewhere")
    failed = shell.run("start", "redis", expect=4)
    assert "password is lost" in failed.stderr
    state.rename(shell.folder / "state.json")
    shell.run("start", "redis")


def test_the_missing_package_is_named_to_who_may_not_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "is_root", lambda: False)
    with pytest.raises(Refused, match="'apt-get install no-such-package-stagepost' as root"):
        packages.ensure_installed(Missing(), notify=lambda _: None)


def test_packages_start_no_service_while_we_install(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"

    def asked(package: str) -> int:
        return subprocess.run([policy, package, "start"], check=False).returncode

    with packages.services_forbidden(policy):
        assert asked("postgresql") == asked("redis-server") == 101
        assert asked("cron") == 0
        left_behind = policy.read_text()
    assert not policy.exists()

    with subprocess.Popen(["true"]) as dead:
        dead.wait()
    policy.write_text(left_behind.replace(str(os.getpid()), str(dead.pid)))
    policy.chmod(0o755)
    assert asked("redis-server") == 0


def test_a_policy_of_the_machine_stays(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    with packages.services_forbidden(policy):
        pass
    assert policy.read_text() == "#!/bin/sh\nexit 101\n"
    policy.write_text("#!/bin/sh\nexit 0\n")
    with (
        pytest.raises(Refused, match="lets packages start"),
        packages.services_forbidden(policy),
    ):
        pass


def test_a_locked_folder_is_waited_for_and_then_named(tmp_path: Path) -> None:
    notes: list[str] = []
    with (
        state.locked(tmp_path / "lock", notes.append),
        pytest.raises(NotAnswering, match="lock"),
        state.locked(tmp_path / "lock", notes.append, timeout=0.2),
    ):
        pass
    assert len(notes) == 1
