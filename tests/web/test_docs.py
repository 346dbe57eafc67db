"""The documents say what the code does."""

import re
from pathlib import Path

from stagepost.settings import Limits
from stagepost.web import server, stream
from stagepost.web.forms import FIELDS_MOST
from stagepost.web.limits import SLOWEST
from stagepost.web.metrics import TABLE
from stagepost.web.options import NAMES
from stagepost.web.problems import Kind
from stagepost.web.roles import ROLES, SHARED, Role

DOCS = Path(__file__).parents[2] / "docs"
API = (DOCS / "http-api.md").read_text()


def rows(name: str, columns: int) -> list[tuple[str, ...]]:
    """The cells of every table row with so many columns."""
    found = []
    for line in (DOCS / name).read_text().splitlines():
        cells = tuple(cell.strip().strip("`") for cell in line.strip().strip("|").split("|"))
        if line.startswith("|") and len(cells) == columns and set(cells[0]) != {"-"}:
            found.append(cells)
    return found


def cell(role: Role | None, *, shared: bool) -> str:
    word = "-" if role is None else role.word
    return f"{word}`, first tenant" if shared else word


def test_the_table_of_roles_is_the_codes() -> None:
    shown = {cells for cells in rows("roles.md", 2) if " /" in cells[0]}

    assert shown == {
        (f"{method} {path}", cell(role, shared=(method, path) in SHARED))
        for (method, path), role in ROLES.items()
    }


def test_the_table_of_metrics_is_the_codes() -> None:
    shown = {
        (name, kind, labels.replace("`", ""), tells)
        for name, kind, labels, tells in rows("metrics.md", 4)
        if name.startswith("stagepost_")
    }

    assert shown == {
        (name, row.kind, ", ".join(row.labels) or "-", row.help) for name, row in TABLE.items()
    }


def test_the_table_of_problems_is_the_codes() -> None:
    shown = {(kind, status) for kind, status, _ in rows("http-api.md", 3) if status.isdigit()}

    assert shown == {(kind.urn.rpartition(":")[2], str(kind.status)) for kind in Kind}


def test_every_parameter_of_a_submit_is_explained() -> None:
    named = set(re.findall(r"`(\w+)`", API))

    assert set(NAMES) <= named


def test_the_limits_are_the_codes() -> None:
    limits = Limits()
    mib = 1024 * 1024

    assert (limits.json_bytes, limits.file_bytes, limits.multipart_bytes) == (
        mib,
        100 * mib,
        256 * mib,
    )
    assert f"1 MiB, {limits.json_depth} levels deep" in API
    assert f"{limits.files}, {FIELDS_MOST}" in API
    assert f"{server.HEAD_MOST // 1024} KiB" in API
    assert f"{SLOWEST:.0f} s, {server.HEAD_PATIENCE:.0f} s" in API
    assert f"{limits.streams:,} streams a process" in API
    assert f"{limits.streams_a_tenant:,} a tenant, {limits.streams_a_task} a task" in API
    assert f"after {stream.QUIET:.0f} s of silence" in API
    assert f"takes nothing for {stream.STALL:.0f} s" in API
