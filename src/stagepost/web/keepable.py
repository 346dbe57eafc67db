"""Text that not every store can keep: it names nothing, so it is refused before it is looked for.

Half a surrogate pair never comes this far: JSON with one is no valid JSON, and what is no UTF-8 in
an address is replaced as it is read.
"""

from typing import Any, Final

from stagepost.web.problems import invalid

_NUL: Final = "\0"
_TOLD: Final = "no name, id or text that is kept has NUL (U+0000) in it; leave it out"


def check_text(value: Any) -> None:
    """Raise ValueError for a text, or a list with one, that can't be kept."""
    texts = value if isinstance(value, list | tuple) else (value,)
    if any(isinstance(text, str) and _NUL in text for text in texts):
        raise ValueError(_TOLD)


def check_path(path: str) -> None:
    """Raise Problem for the path of a request that can't name anything."""
    if _NUL in path:
        raise invalid(f"The path is not valid: {_TOLD}.")
