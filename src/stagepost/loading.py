"""Which task types a process has: the built-in ones, and those of the App that it is given."""

import importlib
import logging
import sys
import traceback
from pathlib import Path

from stagepost.body_codec import Redact
from stagepost.registry import App
from stagepost.settings import Settings
from stagepost.tasks import app as built_in

_log = logging.getLogger("stagepost")


def registered(settings: Settings) -> App:
    """The built-in task types, and those of the App that the settings name.

    Raises ValueError or TypeError with the remedy.
    """
    app = App()
    app.include(built_in)
    if settings.app:
        app.include(load_app(settings.app))
    return app


def check_lanes(app: App, settings: Settings) -> None:
    """Every submit of a type whose lane nobody serves would fail. Raises ValueError.

    A built-in type only warns: lanes may be meant for others alone.
    """
    for name, task_type in app.types.items():
        lane = task_type.lane
        if lane in settings.lanes:
            continue
        lanes = ",".join(f"{known}:{weight}" for known, weight in settings.lanes.items())
        told = (
            f'The task type "{name}" goes to the lane "{lane}", which is none of STAGEPOST_LANES; '
            f"add it (STAGEPOST_LANES={lanes},{lane}:1), or give the type a lane of these."
        )
        if name not in built_in.types:
            raise ValueError(told)
        _log.warning("%s", told)


def load_app(reference: str) -> App:
    """The App that `module:name` names. Raises ValueError or TypeError with the remedy."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise ValueError(
            f'--app is "{reference}"; write it as module:name, such as "my.tasks:app".'
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # a module may raise anything when it is imported
        _log.debug("the app can't be loaded", exc_info=True)
        raise ValueError(f'--app "{reference}" can\'t be loaded: {_where(error)}.') from error
    if not isinstance(found, App):
        raise TypeError(f'--app "{reference}" is no stagepost.App.')
    return found


def load_redact(reference: str) -> Redact:
    """The function that STAGEPOST_REDACT names. Raises ValueError or TypeError with the remedy."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise ValueError(
            f'STAGEPOST_REDACT is "{reference}"; write it as module:function, such as '
            '"my.privacy:redact".'
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Redact = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # a module may raise anything when it is imported
        raise ValueError(
            f'STAGEPOST_REDACT "{reference}" can\'t be loaded: {_where(error)}.'
        ) from error
    if not callable(found):
        raise TypeError(f'STAGEPOST_REDACT "{reference}" is no function.')
    return found


def _where(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
    if isinstance(error, SyntaxError):
        return text  # it names the place itself
    theirs = [frame for frame in traceback.extract_tb(error.__traceback__) if not _ours(frame)]
    return f"{text} ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else text


def _ours(frame: traceback.FrameSummary) -> bool:
    # What the module did wrong is often noticed in here, or while it is imported.
    name = frame.filename
    inside = Path(name).is_relative_to(Path(__file__).parent)
    return inside or name == importlib.__file__ or name.startswith("<")
