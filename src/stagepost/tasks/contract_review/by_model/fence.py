"""Data of a stranger within a prompt, so that nobody can write himself out of it.

Each section begins and ends with a line that carries a code. The code comes from the task's id,
which is drawn when the contract has long been written, and from the data: so a text can't hold its
own fence, and a call that is made again is the same call.
"""

import hashlib
from collections.abc import Sequence

from stagepost.tasks.contract_review.by_model.clean import visible

Section = tuple[str, str]
"""A name of ours, and a stranger's text."""

_DIGITS = 32


def fenced(sections: Sequence[Section], secret: str) -> tuple[str, str]:
    """The sections between lines with the code, and the code.

    What no reader sees is taken out of the texts.
    """
    shown = [(name, visible(text).strip()) for name, text in sections]
    code = _code(shown, secret)
    lines = [f"{code} BEGIN DATA"]
    for name, text in shown:
        if text:
            lines += [f"{code} {name}", text]
    return "\n".join((*lines, f"{code} END DATA")), code


def _code(sections: Sequence[Section], secret: str) -> str:
    data = "\0".join(part for section in sections for part in section)
    for count in range(1_000):
        seed = f"{secret}\0{count}\0{data}".encode("utf-8", "replace")
        code = hashlib.sha256(seed).hexdigest()[:_DIGITS]
        if code not in data:
            return code
    raise AssertionError("A text holds a thousand of its own hashes.")
