"""JSON that a command is given: in its words, in a file, or on stdin."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from stagepost.cli.exits import Usage

_MOST_INPUT: Final = 2 * 1024 * 1024  # characters; the server takes 1 MiB


def given_input(given: str) -> Any:
    """The value of --input; None when there is none. Raises Usage."""
    if not given:
        return None
    try:
        text = _read(given)
        return json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"The input can't be read ({error}); give JSON, @FILE or -.") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise Usage(f"The input is no JSON ({error}); text needs quotes inside them.") from error


def _read(given: str) -> str:
    if given == "-":
        text = sys.stdin.read(_MOST_INPUT + 1)
    elif given.startswith("@"):
        with Path(given[1:]).open(encoding="utf-8") as file:
            text = file.read(_MOST_INPUT + 1)
    else:
        text = given
    if len(text) > _MOST_INPUT:
        raise Usage("The input is larger than 1 MiB; send large content as a file.")
    return text
