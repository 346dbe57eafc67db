"""Files on their way to a server and back."""

import contextlib
import mimetypes
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_UNSAFE: Final = re.compile(r"[/\\\x00-\x1f\x7f]")
_LONGEST_NAME: Final = 200
_PIECE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class FileField:
    """A field of a task type's input that takes a file, or several."""

    name: str
    several: bool = False


@dataclass(frozen=True, slots=True)
class FilePart:
    """A local file and the field that it fills."""

    field: str
    path: Path


def file_fields(document: Any, type_name: str) -> list[FileField]:
    """The file fields of a task type in a server's OpenAPI document, in their order.

    Empty when the document does not tell of such a type.
    """
    paths = document.get("paths", {}) if isinstance(document, dict) else {}
    submit = paths.get(f"/api/v1/tasks/{type_name}", {}).get("post", {})
    content = submit.get("requestBody", {}).get("content", {})
    schema = _resolved(document, content.get("multipart/form-data", {}).get("schema", {}))
    found = ((name, _file_kind(document, each)) for name, each in _properties(schema))
    return [FileField(name, several) for name, several in found if several is not None]


def _properties(schema: Any) -> Iterator[tuple[str, Any]]:
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return iter(properties.items())


def _file_kind(document: Any, schema: Any) -> bool | None:
    """Whether a property takes several files; None when it takes none."""
    for option in [schema, *schema.get("anyOf", [])]:
        resolved = _resolved(document, option)
        if resolved.get("format") == "binary":
            return False
        if resolved.get("type") == "array":
            items = _resolved(document, resolved.get("items", {}))
            if items.get("format") == "binary":
                return True
    return None


def _resolved(document: Any, schema: Any) -> Any:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema if isinstance(schema, dict) else {}
    found = document
    for name in reference[2:].split("/"):
        found = found.get(name, {})
    return found


def named(arguments: Sequence[str]) -> list[FilePart]:
    """Each `FILE` or `field=FILE` of a command line; a bare one has an empty field yet.

    Raises ValueError for a file that can't be read.
    """
    return [_named(argument) for argument in arguments]


def placed(parts: Sequence[FilePart], fields: Sequence[FileField]) -> list[FilePart]:
    """The parts with a field for each.

    A bare one takes the next file field; a field for several takes all that follow. Without known
    fields it is `file`. Raises ValueError when there is one too many.
    """
    taken = {part.field for part in parts}
    free = [each for each in fields or [FileField("file")] if each.name not in taken]
    filled: list[FilePart] = []
    for part in parts:
        if part.field:
            filled.append(part)
            continue
        if not free:
            raise ValueError(_no_field_left(part.path, fields))
        filled.append(FilePart(free[0].name, part.path))
        if not free[0].several:
            del free[0]
    return filled


def _no_field_left(path: Path, fields: Sequence[FileField]) -> str:
    names = [each.name for each in fields] or ["file"]
    takes = f"one file only ({names[0]})" if len(names) == 1 else f"the files {', '.join(names)}"
    return f"There is no field left for {path}: the task type takes {takes}; leave it out."


def _named(text: str) -> FilePart:
    field, equals, path = text.partition("=")
    if not equals or not _FIELD.fullmatch(field):
        field, path = "", text
    found = Path(path)
    check_readable(found)
    return FilePart(field, found)


def check_readable(path: Path) -> None:
    """Raise ValueError, with the remedy, for what is no file that can be read."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    if not os.access(path, os.R_OK):
        raise ValueError(f"{path} can't be read; give this user the right to.")


async def pieces(path: Path) -> AsyncIterator[bytes]:
    """A file's bytes, never more than a piece of it in memory."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


@contextlib.contextmanager
def opened(parts: Sequence[FilePart]) -> Iterator[list[tuple[str, tuple[str, BinaryIO, str]]]]:
    """The parts as httpx takes them, open while the context lasts. Raises ValueError."""
    with contextlib.ExitStack() as stack:
        try:
            yield [
                (
                    part.field,
                    (part.path.name, stack.enter_context(part.path.open("rb")), _type(part)),
                )
                for part in parts
            ]
        except OSError as error:
            raise ValueError(f"{error.filename} can't be read ({error.strerror}).") from error


def _type(part: FilePart) -> str:
    return mimetypes.guess_type(part.path.name)[0] or "application/octet-stream"


def local_name(name: str, taken: Mapping[str, Any]) -> str:
    """A server's name for a file as one for this machine: in no other folder, and not yet taken."""
    safe = _UNSAFE.sub("_", name)[-_LONGEST_NAME:].lstrip(".") or "file"
    chosen, number = safe, 2
    while chosen in taken:
        chosen = f"{number}-{safe}"
        number += 1
    return chosen


async def save(chunks: AsyncIterator[bytes], target: Path) -> int:
    """Write chunks to a file that appears only when it is whole; returns its bytes."""
    part = target.with_name(f"{target.name}.part")
    size = 0
    try:
        with part.open("wb") as file:
            async for chunk in chunks:
                size += file.write(chunk)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return size
