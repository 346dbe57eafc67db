"""Values that a step's function takes, returns and raises, on their way between two processes.

They are pickled apart from the message that carries them: one that can't be read again spoils only
its own step, and a child reads the parent's script only for what was defined in it.
"""

import pickle
import sys
import traceback
from dataclasses import dataclass
from typing import Any, Final, Self

MAIN: Final = "__mp_main__"
"""The name under which a script is imported in a child."""


def pack(value: Any) -> bytes:
    """Pickle it. Raises TypeError for what can't be pickled."""
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise TypeError(
            f"{type(value).__name__} can't be passed between processes: {error}"
        ) from error


def unpack(packed: bytes) -> Any:
    """What was packed; names of the parent's script are found in both processes."""
    if MAIN.encode() in packed:
        sys.modules.setdefault(MAIN, sys.modules["__main__"])
    return pickle.loads(packed)  # noqa: S301  # see frames


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception; some can be pickled but not read again, so its text goes with it."""

    packed: bytes | None
    text: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """What a function raised, with where it was raised."""
        where = "".join(traceback.format_exception(error))
        error.add_note(f"In the child process:\n{where}")
        text = f"{type(error).__name__}: {error}\n{where}"
        try:
            packed = pack(error)
            unpack(packed)
        except Exception:  # noqa: BLE001  # whatever it is, it can't travel
            return cls(None, text)
        return cls(packed, text)

    def error(self) -> Exception:
        """The exception to raise here."""
        try:
            found = unpack(self.packed) if self.packed is not None else None
        except Exception:  # noqa: BLE001  # its class is not known here
            found = None
        return found if isinstance(found, Exception) else RuntimeError(self.text)
