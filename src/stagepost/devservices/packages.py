"""Install what is missing by apt-get, without starting the distribution's own services."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stagepost.devservices import commands
from stagepost.devservices.errors import DevServiceError, Refused
from stagepost.devservices.folder import is_root
from stagepost.devservices.service import Service
from stagepost.devservices.state import locked

_APT_TIMEOUT = 600.0
_INSTALL_LOCK = Path("/run/stagepost-install.lock")
_POLICY = Path("/usr/sbin/policy-rc.d")
_CLUSTER_RULES = Path("/etc/postgresql-common/createcluster.conf")
_CLUSTER_TEMPLATE = Path("/usr/share/postgresql-common/createcluster.conf")

# Debian's packages ask this script before they start a service. It forbids only while we live:
# left behind by a killed command it changes nothing.
_FORBID = """#!/bin/sh
# Placed by 'stagepost dev services start' while it installs packages; may be removed.
kill -0 {pid} 2>/dev/null || exit 0
case "$1" in postgresql*|redis*) exit 101 ;; esac
exit 0
"""


def ensure_installed(service: Service, notify: Callable[[str], None]) -> None:
    """Return with the service's programs on this machine.

    Raises:
        Refused: they are missing and cannot be installed.
        NotAnswering: apt-get took over 10 minutes.
    """
    if service.installed():
        return
    package = service.package
    if not is_root():
        raise Refused(f"The package {package} is missing: run 'apt-get install {package}' as root.")
    if shutil.which("apt-get") is None:
        raise Refused(f"{package} is missing and there is no apt-get here: install it another way.")
    with locked(_INSTALL_LOCK, notify):
        if not service.installed():
            notify(f"installing {package} ...")
            _install(service)
    if not service.installed():
        raise Refused(f"{package} was installed, yet its programs were not found.")


def _install(service: Service) -> None:
    with services_forbidden(_POLICY), _no_main_cluster():
        try:
            _apt("install", service.package)
        except Refused:
            # Package lists are missing or stale on a fresh machine.
            _apt("update")
            _apt("install", service.package)
    # It was installed for us alone: the next boot must not start it either. A PostgreSQL without a
    # cluster has nothing to start, and a cluster that someone makes later should start.
    if service.package == "redis-server":
        _not_at_boot(service.package)


def _not_at_boot(unit: str) -> None:
    """Disable it for both kinds of init that a Debian machine may boot with."""
    for command in (["update-rc.d", unit, "disable"], ["systemctl", "disable", unit]):
        if shutil.which(command[0]):
            commands.run(command, folder=Path("/"), timeout=60)


def _apt(*words: str) -> None:
    commands.run(
        ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends", *words],
        folder=Path("/"),
        timeout=_APT_TIMEOUT,
        # The caller's environment: it may hold the proxy that reaches the packages.
        environment={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "UCF_FORCE_CONFFOLD": "1"},
    )


@contextmanager
def services_forbidden(policy: Path) -> Iterator[None]:
    """While inside, packages do not start our services; an existing policy that says so stays.

    Raises:
        Refused: an existing policy lets services start.
    """
    if policy.exists():
        _must_forbid(policy)
        yield
        return
    policy.write_text(_FORBID.format(pid=os.getpid()), encoding="ascii")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink(missing_ok=True)


def _must_forbid(policy: Path) -> None:
    try:
        commands.run([str(policy), "redis-server", "start"], folder=Path("/"), timeout=10)
    except DevServiceError:
        return
    raise Refused(f"{policy} lets packages start services: install postgresql and redis-server.")


@contextmanager
def _no_main_cluster() -> Iterator[None]:
    """While inside, PostgreSQL's package creates no cluster `main` of its own."""
    before = _CLUSTER_RULES.read_bytes() if _CLUSTER_RULES.exists() else None
    _CLUSTER_RULES.parent.mkdir(parents=True, exist_ok=True)
    _CLUSTER_RULES.write_text("create_main_cluster = false\n", encoding="ascii")
    try:
        yield
    finally:
        if before is None and _CLUSTER_TEMPLATE.exists():
            before = _CLUSTER_TEMPLATE.read_bytes()
        if before is None:
            _CLUSTER_RULES.unlink()
        else:
            _CLUSTER_RULES.write_bytes(before)
