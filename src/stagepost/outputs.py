"""What a handler gives out while it runs, checked: its progress, its text and its files."""

from pathlib import Path
from typing import Any

from stagepost.records import ProgressNote


def noted(percent: float, message: str, step: str | None) -> ProgressNote:
    """How far it is. Raises ValueError outside of 0 to 100; a message keeps 500 characters."""
    if not 0 <= percent <= 100:
        raise ValueError("Progress lies between 0 and 100.")
    return ProgressNote(round(percent), clean(message)[:500], step)


def clean(text: str) -> str:
    """Text without halves of surrogate pairs, which could be neither kept nor sent."""
    return text.encode("utf-8", "replace").decode()


def artifact(name: str, content: Any) -> bytes | Path:
    """A file's bytes, or where they are. Raises ValueError for its name, TypeError."""
    match content:
        case bytes() | Path():
            found = content
        case bytearray() | memoryview():
            found = bytes(content)
        case str():
            found = clean(content).encode()
        case _:
            raise TypeError(
                f"An artifact is bytes, text or the Path of a file, not {type(content).__name__}."
            )
    if not name or len(name) > 255 or "/" in name or not name.isprintable():
        raise ValueError("An artifact's name has 1 to 255 printable characters and no slash.")
    return found
