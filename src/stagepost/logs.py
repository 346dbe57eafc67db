"""How log lines look and where they go: to stderr, for people, or as JSON for machines.

Lines are made where they are logged, and written by a thread of their own: a terminal that was
stopped or a reader that does not read delays neither the API nor a heartbeat. What can't be written
in time is dropped and counted.
"""

import contextlib
import json
import logging
import queue
import sys
import threading
from datetime import UTC, datetime
from typing import Final, TextIO

from stagepost.masking import masked
from stagepost.outages import SeldomTold
from stagepost.settings import LogStyle

_MOST_WAITING: Final = 10_000  # lines
_LAST_LINES: Final = 2.0  # seconds for what still waits at the end
_MARKS: Final = ("taskId", "traceId")
_NOISY: Final = ("uvicorn", "httpx", "httpcore", "asyncio")
"""Their INFO tells what ours tells better."""


class TextFormatter(logging.Formatter):
    """Time, level, logger, message, marks; further lines are indented, so none can be forged."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as text."""
        marks = "".join(f" {name}={value}" for name, value in _marks(record))
        message = masked(record.getMessage())
        head = f"{_time(record)} {record.levelname:<8}{record.name}: {message}{marks}"
        return "\n  ".join("\n".join([head, *_trace(self, record)]).splitlines())


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, marks, and `error` with a trace."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as JSON."""
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(record.getMessage()),
            **dict(_marks(record)),
        }
        if trace := _trace(self, record):
            line["error"] = "\n".join(trace)
        return json.dumps(line, ensure_ascii=False)


class LogLines:
    """The logging of a process from `start` to `close`."""

    def __init__(self, style: LogStyle, stream: TextIO | None = None) -> None:
        self._style = style
        self._stream = stream or sys.stderr
        self._handler = _NeverWaiting()
        self._writer = threading.Thread(target=self._write, name="stagepost-logs", daemon=True)

    @property
    def dropped(self) -> int:
        """How many lines could not be written in time."""
        return self._handler.dropped

    def start(self) -> None:
        """Take over everything that is logged."""
        _take_over(self._handler, self._style)
        self._writer.start()

    def close(self) -> None:
        """Write what waits, for two seconds at most."""
        if self.dropped:
            logging.getLogger("stagepost").warning(
                "%d log lines were dropped because stderr was not read", self.dropped
            )
        logging.getLogger().handlers[:] = []
        with contextlib.suppress(queue.Full):
            self._handler.waiting.put(None, timeout=_LAST_LINES)
        self._writer.join(_LAST_LINES)

    def _write(self) -> None:
        while (line := self._handler.waiting.get()) is not None:
            # A reader that has gone away is no reason to stop working.
            with contextlib.suppress(OSError):
                self._stream.write(f"{line}\n")
                self._stream.flush()


def write_directly(style: LogStyle) -> None:
    """The same lines without a thread, for a process of one handler: only that may be delayed."""
    _take_over(logging.StreamHandler(sys.stderr), style)


def _take_over(handler: logging.Handler, style: LogStyle) -> None:
    handler.setFormatter(JsonFormatter() if style.form == "json" else TextFormatter())
    handler.addFilter(SeldomTold())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(style.level.upper())
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


class _NeverWaiting(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.waiting: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self.dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.waiting.put_nowait(self.format(record))
        except queue.Full:
            self.dropped += 1
        except Exception:  # noqa: BLE001  # a wrong log call must not end what it tells about
            self.handleError(record)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _marks(record: logging.LogRecord) -> list[tuple[str, str]]:
    return [(name, value) for name in _MARKS if (value := getattr(record, name, None))]


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    parts = [] if record.exc_info is None else [formatter.formatException(record.exc_info)]
    if record.stack_info:
        parts.append(formatter.formatStack(record.stack_info))
    return [masked(part) for part in parts]
