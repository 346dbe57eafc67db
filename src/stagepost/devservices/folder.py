"""The scratch folder: which one it is, and that it is ours alone."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from stagepost.devservices.errors import Refused

MARK = "stagepost-services"
_SYSTEM_CACHE = Path("/var/cache/stagepost/services")


def default_folder(environment: Mapping[str, str], home: Path) -> Path:
    """`stagepost/services` below the user's cache folder (XDG).

    Root's services run as other accounts, which cannot pass through a home that is closed to
    them: then it is below /var/cache.
    """
    named = Path(environment.get("XDG_CACHE_HOME") or "")
    folder = (named if named.is_absolute() else home / ".cache") / "stagepost" / "services"
    if is_root() and _closed_ancestor(folder) is not None:
        return _SYSTEM_CACHE
    return folder


def open_folder(path: Path) -> Path:
    """The folder, made if there is none, and closed to others. Its absolute path.

    Mode 0700. Root's has 0711: others may pass through to their own folders below, not list it.

    Raises:
        Refused: it holds what is not ours, belongs to someone else, or lies where the accounts
            that root's services run as cannot reach it.
    """
    try:
        folder = path.expanduser().resolve()
        _check_ancestors(folder)
        _make(folder)
        _check_ours(folder)
        (folder / MARK).touch(mode=0o600)
        folder.chmod(0o711 if is_root() else 0o700)
    except OSError as error:
        raise Refused(
            f"{path} cannot be used: {error.strerror}. Choose another with --dir."
        ) from None
    return folder


def is_root() -> bool:
    """Whether we may install packages and become other accounts."""
    return os.geteuid() == 0


def _make(folder: Path) -> None:
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir(mode=0o755 if is_root() else 0o700, exist_ok=True)


def _check_ancestors(folder: Path) -> None:
    closed = _closed_ancestor(folder.parent) if is_root() else None
    if closed is not None:
        raise Refused(
            f"The services' accounts cannot pass through {closed}. Choose another with --dir."
        )


def _check_ours(folder: Path) -> None:
    if folder.stat().st_uid != os.geteuid():
        raise Refused(f"{folder} belongs to another user. Choose another with --dir.")
    if not (folder / MARK).exists() and any(folder.iterdir()):
        raise Refused(f"{folder} holds other files. Choose an empty or new one with --dir.")


def _closed_ancestor(folder: Path) -> Path | None:
    """The outermost existing folder on the way down that others cannot pass through."""
    for part in (*reversed(folder.parents), folder):
        if part.exists() and not part.stat().st_mode & stat.S_IXOTH:
            return part
    return None
