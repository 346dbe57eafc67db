"""One request, one answer, in an order that matters: limits, imports, walls, and then the document.

The answer is one JSON object on stdout: `{"extract": ...}`, `{"refusal": sentence}` or, for the
kind `probe`, `{"lockdown": ...}`.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from stagepost.tasks.documents.limits import Limits
from stagepost.tasks.documents.parsers.lockdown import isolate, limit_resources
from stagepost.tasks.documents.parsers.refusal import Extract, Refusal

EXIT_ANSWERED = 0
EXIT_SETUP = 64  # the sandbox could not be set up: not the document's fault
EXIT_MEMORY = 65  # the document needs more memory than `Limits.memory`
EXIT_BROKEN = 66  # the parser broke on it; the trace is on stderr

Parser = Callable[[bytes, Limits], Extract]


def serve(request: dict[str, Any]) -> int:
    """Answers the request and returns the exit code, one of the four above."""
    try:
        limits = Limits(**request["limits"])
        limit_resources(
            memory=limits.memory,
            cpu_seconds=limits.cpu_seconds,
            open_files=limits.open_files,
            output_bytes=limits.output_bytes,
        )
        parse = _parser(request["kind"])
        lockdown = isolate(request["parent"])
    except Exception:  # noqa: BLE001 - whatever it is, no byte of the document was read yet
        traceback.print_exc()
        return EXIT_SETUP
    if parse is None:
        return _answer({"lockdown": asdict(lockdown)})
    return _read(parse, limits)


def _parser(kind: str) -> Parser | None:
    """Imports only what this kind of document needs; None for the probe, which reads none."""
    # ruff: noqa: PLC0415 - that is the point
    match kind:
        case "pdf":
            from stagepost.tasks.documents.parsers.pdf import read_pdf

            return read_pdf
        case "zip":
            from stagepost.tasks.documents.parsers.docx import read_docx

            return read_docx
        case "ole":
            from stagepost.tasks.documents.parsers.ole import read_ole

            return read_ole
        case "text" | "markdown":
            from stagepost.tasks.documents.parsers.text import read_markdown, read_text

            return read_text if kind == "text" else read_markdown
        case "probe":
            return None
    raise ValueError(f"no parser for {kind}")


def _read(parse: Parser, limits: Limits) -> int:
    try:
        return _answer({"extract": asdict(parse(sys.stdin.buffer.read(), limits))})
    except Refusal as refusal:
        return _answer({"refusal": str(refusal)})
    except MemoryError:
        return EXIT_MEMORY
    except Exception:  # noqa: BLE001 - a hostile file may break a parser anywhere
        traceback.print_exc()
        return EXIT_BROKEN


def _answer(answer: dict[str, Any]) -> int:
    """Writes the answer; a lone surrogate becomes a question mark, so offsets stay as they are."""
    with os.fdopen(os.dup(1), "wb") as out:
        out.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    return EXIT_ANSWERED
