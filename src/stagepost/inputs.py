"""Inputs and signals, from what a caller gives to the JSON text that is kept."""

from collections.abc import Sequence
from typing import Any, Final

import orjson
from pydantic import BaseModel

from stagepost.errors import Invalid
from stagepost.records import UploadRecord
from stagepost.signals import MOST_BYTES, NAME
from stagepost.task_type import TaskType

_LONGEST_INPUT: Final = 1024 * 1024  # bytes of JSON
_MOST_IDS: Final = 1_000  # texts of an input that are looked up as uploads
_ID_LENGTH: Final = 36


def input_text(task_type: TaskType, value: Any, uploads: Sequence[UploadRecord] = ()) -> str:
    """A validated input as JSON text; it may name these uploads. Raises Invalid."""
    known = {upload.upload_id: upload for upload in uploads}.get if uploads else None
    return _bounded(task_type, task_type.dump(task_type.parse(value, known)))


def _bounded(task_type: TaskType, text: str) -> str:
    size = len(text) if text.isascii() else len(text.encode())
    if size > _LONGEST_INPUT:
        raise Invalid(
            f"The input of {task_type.name} is larger than 1 MiB; send large content as a file.",
            [((), "larger than 1 MiB")],
        )
    return text


def ids_in(value: Any) -> list[str]:
    """What may be an upload's id; the store knows which of them are the tenant's."""
    found: list[str] = []
    pending = [value.model_dump() if isinstance(value, BaseModel) else value]
    while pending and len(found) < _MOST_IDS:
        match pending.pop():
            case dict() as item:
                pending.extend(item.values())
            case list() as item:
                pending.extend(item)
            case str() as item if len(item) == _ID_LENGTH:
                found.append(item)
    return found


def signal_text(name: str, value: Any) -> str:
    """A signal's value as the JSON text that is kept. Raises Invalid."""
    if not NAME.fullmatch(name):
        told = "A signal's name has 1 to 64 letters, digits, dots, dashes and underscores."
        raise Invalid(told, [(("name",), told)])
    try:
        text = orjson.dumps(value)
    except TypeError as error:
        raise Invalid("A signal is JSON data.", [((), str(error))]) from error
    if len(text) > MOST_BYTES:
        raise Invalid("A signal has at most 64 KiB of JSON.", [((), "larger than 64 KiB")])
    return text.decode()
