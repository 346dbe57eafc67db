"""A file in, a `Document` out; whatever can't be read is refused with a sentence."""

import asyncio
import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

from stagepost import InvalidInput
from stagepost.tasks.documents.document import Document, Page
from stagepost.tasks.documents.kinds import HEAD, kind_of
from stagepost.tasks.documents.language import language_of
from stagepost.tasks.documents.limits import DEFAULT_LIMITS, MIB, Limits
from stagepost.tasks.documents.sandbox import parse


async def read_document(
    path: Path, *, name: str, media_type: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> Document:
    """Reads a PDF with text, a DOCX, a text or a Markdown file in a sandboxed process of its own.

    The kind is decided by the content; `name` is the name shown to people, and it or a declared
    `media_type` only tells Markdown from plain text. For plain text `Document.text` is the decoded
    file without its byte order mark, newlines as they are.

    Raises InvalidInput with a sentence for the user when the file is empty, too large, encrypted,
    damaged, hostile or of another kind; SandboxFailed when the sandbox itself did not work; OSError
    when `path` can't be opened. Cancelling it kills the process.
    """
    with _opened(path) as source:
        size = os.fstat(source.fileno()).st_size
        _check_size(size, limits)
        sha256 = await asyncio.to_thread(_digest, source)
        kind = kind_of(os.pread(source.fileno(), HEAD, 0), name=name, media_type=media_type)
        extract = await parse(source, kind, limits)
    return Document(
        name=name,
        media_type=extract.media_type,
        sha256=sha256,
        bytes=size,
        text=extract.text,
        pages=tuple(
            Page(number=number, start=start, end=end)
            for number, (start, end) in enumerate(extract.pages, 1)
        ),
        language=language_of(extract.text),
        warnings=extract.warnings,
    )


def _opened(path: Path) -> BufferedReader:
    """The file, opened without waiting: a named pipe or a device is refused, not waited for."""
    source = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
        source.close()
        raise InvalidInput("This is not a file. Upload the contract itself.")
    return source


def _check_size(size: int, limits: Limits) -> None:
    if not size:
        raise InvalidInput("The file is empty. Upload the contract itself.")
    if size > limits.bytes:
        raise InvalidInput(
            f"The file has {size / MIB:.1f} MiB; at most {limits.bytes / MIB:.0f} MiB can be read. "
            "Save it with smaller pictures, or split it and upload the parts."
        )


def _digest(source: BufferedReader) -> str:
    """The SHA-256 of the whole file; leaves the read position at its start."""
    digest = hashlib.file_digest(source, "sha256").hexdigest()
    source.seek(0)
    return digest
