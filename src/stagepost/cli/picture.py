"""What a watcher knows of a task after each of its news. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from stagepost.cli.waits import ended_by, failed_text, waiting_text
from stagepost.remote import News


@dataclass(frozen=True, slots=True)
class Picture:
    """How far a task is, in percent, and the latest that there is to say about it."""

    percent: int = 0
    message: str = "submitted"
    told: bool = False
    """Whether its handler reports progress; if not, the names of its steps have to do."""

    def after(self, news: News) -> "Picture":
        """The picture once this has happened."""
        paint = _PAINTERS.get(news.event)
        return self if paint is None else paint(self, news.data)


def _status(picture: Picture, data: Mapping[str, Any]) -> Picture:
    if data.get("final"):
        # Its end event follows, and says more.
        return replace(picture, percent=data["progress"], message="")
    step = data.get("currentStep")
    status, wait = str(data["status"]), waiting_text(data.get("waitingFor"))
    message = failed_text(data) if status == "FAILED" else wait or step or status.lower()
    return replace(
        picture, percent=data["progress"], message=message, told=picture.told or bool(step)
    )


def _queued(picture: Picture, data: Mapping[str, Any]) -> Picture:
    return replace(picture, message=f"queued ({data['reason']})")


def _started(picture: Picture, data: Mapping[str, Any]) -> Picture:
    attempt = data["attempt"]
    return replace(picture, message="started" if attempt == 1 else f"started, attempt {attempt}")


def _progress(picture: Picture, data: Mapping[str, Any]) -> Picture:
    message = data.get("message") or data.get("step") or picture.message
    return replace(picture, percent=data["progress"], message=message, told=True)


def _step(picture: Picture, data: Mapping[str, Any]) -> Picture:
    return picture if picture.told else replace(picture, message=f"{data['name']} done")


def _retrying(picture: Picture, data: Mapping[str, Any]) -> Picture:
    told = {**data, "errorMessage": data.get("message")}
    return replace(picture, message=failed_text(told))


def _wait(picture: Picture, data: Mapping[str, Any]) -> Picture:
    return replace(picture, message=waiting_text(data.get("for")) or "waiting")


def _redriven(picture: Picture, data: Mapping[str, Any]) -> Picture:
    return replace(picture, message=f"sent back by {data['by']}")


def _away(picture: Picture, _data: Mapping[str, Any]) -> Picture:
    return replace(picture, message="the connection is lost; trying again")


def _completed(picture: Picture, _data: Mapping[str, Any]) -> Picture:
    return replace(picture, percent=100, message="completed")


def _failed(picture: Picture, data: Mapping[str, Any]) -> Picture:
    return replace(picture, message=f"failed: {data.get('message') or data.get('failureKind')}")


def _cancelled(picture: Picture, data: Mapping[str, Any]) -> Picture:
    return replace(picture, message=ended_by(data))


_PAINTERS: Final[Mapping[str, Callable[[Picture, Mapping[str, Any]], Picture]]] = {
    "status": _status,
    "queued": _queued,
    "started": _started,
    "progress": _progress,
    "step": _step,
    "retrying": _retrying,
    "waiting": _wait,
    "redriven": _redriven,
    "away": _away,
    "completed": _completed,
    "failed": _failed,
    "cancelled": _cancelled,
}
