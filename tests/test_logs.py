"""Log lines."""

import io
import json
import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from stagepost.errors import Conflict, LimiterUnavailable, StoreUnavailable
from stagepost.logs import JsonFormatter, LogLines, TextFormatter
from stagepost.outages import SeldomTold
from stagepost.settings import LogStyle


def record(message: str, *args: object, **marks: str) -> logging.LogRecord:
    made = logging.LogRecord("stagepost.x", logging.INFO, __file__, 1, message, args, None)
    made.created = 1_700_000_000.25
    made.__dict__.update(marks)
    return made


@pytest.fixture
def _logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before
    logging.captureWarnings(capture=False)


def test_a_line_for_people_has_time_level_and_marks() -> None:
    line = TextFormatter().format(record("read %d pages", 3, taskId="t", traceId="r"))
    assert line == ("2023-11-14T22:13:20.250Z INFO    stagepost.x: read 3 pages taskId=t traceId=r")


def test_no_message_can_forge_a_line() -> None:
    line = TextFormatter().format(record("%s", "harmless\n2023-11-14T22:13:20.250Z ERROR forged"))
    assert line.splitlines()[1].startswith("  2023")


def test_a_line_for_machines_is_one_json_object() -> None:
    failed = record("line\n%s", "two", taskId="t")
    try:
        raise KeyError("x")
    except KeyError:
        failed.exc_info = sys.exc_info()
    text = JsonFormatter().format(failed)
    assert "\n" not in text
    line = json.loads(text)
    assert line.pop("error").startswith("Traceback")
    assert line == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "info",
        "logger": "stagepost.x",
        "message": "line\ntwo",
        "taskId": "t",
    }


@pytest.mark.usefixtures("_logging_restored")
def test_lines_are_written_from_a_level_on_and_foreign_chatter_is_not() -> None:
    out = io.StringIO()
    lines = LogLines(LogStyle(level="warning"), out)
    lines.start()
    logging.getLogger("stagepost").info("too low")
    logging.getLogger("stagepost").warning("told")
    logging.getLogger("httpx").info("chatter")
    lines.close()
    assert [line.partition(": ")[2] for line in out.getvalue().splitlines()] == ["told"]


@pytest.mark.usefixtures("_logging_restored")
def test_a_stream_that_nobody_reads_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stagepost.logs._MOST_WAITING", 10)
    monkeypatch.setattr("stagepost.logs._LAST_LINES", 0.05)
    open_again = threading.Event()

    class Stuck(io.StringIO):
        def write(self, text: str) -> int:
            open_again.wait(30)
            return super().write(text)

    out = Stuck()
    lines = LogLines(LogStyle(), out)
    lines.start()
    for number in range(1000):
        logging.getLogger("stagepost").info("line %d", number)
    assert lines.dropped >= 1000 - 10 - 1
    lines.close()
    open_again.set()


@pytest.mark.usefixtures("_logging_restored")
def test_a_wrong_log_call_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LogLines(LogStyle(), io.StringIO())
    lines.start()
    logging.getLogger("stagepost").info("%d", "no number")
    lines.close()
    assert "--- Logging error ---" in capsys.readouterr().err


def away(message: str, *args: object, after: float = 0.0) -> logging.LogRecord:
    made = record(message, *args, StoreUnavailable("It is away."))
    made.created += after
    return made


def test_of_what_an_outage_makes_all_say_again_a_line_a_minute_is_told() -> None:
    seldom = SeldomTold()
    lines = [away("%d writes were refused: %s", each, after=each / 100) for each in range(500)]
    assert [seldom.filter(each) for each in lines] == [True] + [False] * 499
    later = away("%d writes were refused: %s", 7, after=61)
    assert seldom.filter(later)
    assert later.getMessage() == "7 writes were refused: It is away. (499 more like it since)"
    assert seldom.filter(away("a heartbeat was not taken: %s", after=61))


def test_all_else_is_told_each_time() -> None:
    seldom = SeldomTold()
    assert all(seldom.filter(record("task %s failed", each)) for each in range(10))
    assert all(seldom.filter(record("refused: %s", Conflict("no"))) for _ in range(10))


@pytest.mark.usefixtures("_logging_restored")
def test_the_logging_of_a_process_keeps_to_it() -> None:
    stream = io.StringIO()
    lines = LogLines(LogStyle(form="text", level="info"), stream)
    lines.start()
    for _ in range(100):
        logging.getLogger("stagepost.x").warning("no claims: %s", LimiterUnavailable("away"))
    lines.close()
    assert stream.getvalue().count("no claims") == 1
