"""What an error of SQLite's, or of an intent's own data, means to the caller of a verb."""

from typing import Final

import apsw

from stagepost.errors import Conflict, StagepostError, StoreUnavailable, Unwritable

_BROKEN: Final = (apsw.IOError, apsw.CorruptError, apsw.NotADBError)
_PASSING: Final = (
    apsw.FullError,
    apsw.ReadOnlyError,
    apsw.BusyError,
    apsw.LockedError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    apsw.NoMemError,
    apsw.InterruptError,
)
UNWRITABLE: Final = (
    TypeError, ValueError, OverflowError,
    apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError,
)  # fmt: skip
"""The caller's own data can't be given to SQLite: no Unicode, beyond 64 bits, against a rule."""

_TAKEN: Final = (apsw.SQLITE_CONSTRAINT_PRIMARYKEY, apsw.SQLITE_CONSTRAINT_UNIQUE)


def is_full(error: Exception) -> bool:
    """There is no room on the disk; that for the log's index is asked for apart from the rest."""
    if isinstance(error, apsw.IOError):
        # An attribute that the typing of apsw does not know.
        return getattr(error, "extendedresult", None) in {
            apsw.SQLITE_IOERR_SHMSIZE,
            apsw.SQLITE_IOERR_SHMOPEN,
        }
    return isinstance(error, apsw.FullError)


def breaks(error: Exception) -> bool:
    """After this nobody can say what is on the disk: only a restart can."""
    return isinstance(error, _BROKEN) and not is_full(error)


def concerns_all(error: Exception) -> bool:
    """The store itself is at fault, so that every intent would meet the same."""
    return isinstance(error, _BROKEN + _PASSING)


def reason(error: Exception) -> str:
    """One sentence with the remedy."""
    if is_full(error):
        return "The disk of the data folder is full; free some space and try again."
    match error:
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return "The data folder has become read-only; make it writable and try again."
        case apsw.BusyError() | apsw.LockedError():
            return "Another program holds the data folder's database; end it and try again."
        case apsw.CorruptError() | apsw.NotADBError():
            return "The store's file is damaged; stop, and put a backup in its place."
        case apsw.InterruptError():
            return "The store took too long to answer; ask for less."
        case apsw.IOError():
            return "The disk of the data folder failed; look at the system's log, then restart."
        case _:
            return f"The store could not do this ({type(error).__name__}: {error})."


def refusal(error: Exception) -> StagepostError:
    """What the caller of the intent that met this error is told."""
    if isinstance(error, StagepostError):
        return error
    # An attribute that the typing of apsw does not know.
    if getattr(error, "extendedresult", None) in _TAKEN:
        return Conflict("Something of this id or name is there already.")
    if isinstance(error, UNWRITABLE):
        return Unwritable(f"The store can't keep this ({error}).")
    return StoreUnavailable(reason(error))
