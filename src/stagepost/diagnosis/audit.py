"""Where the seals of the ledger are copied to."""

import os
from pathlib import Path

from stagepost.adapters import anchor_file
from stagepost.addresses import host_of
from stagepost.diagnosis.finding import Finding, fail, ok
from stagepost.errors import StoreRefused
from stagepost.settings import Settings


def anchor(settings: Settings) -> Finding:
    """Whether seals can go outside; nothing is written, and no URL is asked."""
    if not settings.audit_anchor:
        return ok(
            "audit", "the ledger is sealed inside the store only: no STAGEPOST_AUDIT_ANCHOR is set"
        )
    try:
        file = anchor_file(settings)
        if file is None:
            return ok("audit", f"seals go to {host_of(settings.audit_anchor)}")
    except StoreRefused as error:
        detail, _, remedy = str(error).partition("; ")
        return fail("audit", detail, remedy[:1].upper() + remedy[1:])
    except ValueError:
        return fail(
            "audit", "STAGEPOST_AUDIT_ANCHOR is no address", "Write https://HOST/PATH or a file."
        )
    if _writable(file):
        return ok("audit", f"seals go to {file}")
    return fail(
        "audit",
        f"the anchor {file} can't be written",
        "Make its folder and give this user the right to write there, or correct "
        "STAGEPOST_AUDIT_ANCHOR.",
    )


def _writable(file: Path) -> bool:
    if file.exists():
        return file.is_file() and os.access(file, os.R_OK | os.W_OK)
    return os.access(file.parent, os.W_OK | os.X_OK)
