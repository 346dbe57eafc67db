"""What an error of PostgreSQL's or of its driver means to the caller of a verb."""

from typing import Final

import asyncpg
from asyncpg import exceptions as pg

from stagepost.errors import Conflict, StagepostError, StoreUnavailable, Unwritable

LOST: Final = (
    OSError,  # ConnectionError and TimeoutError among them
    pg.PostgresConnectionError,
    pg.InternalClientError,
    pg.AdminShutdownError,
    pg.CrashShutdownError,
    pg.CannotConnectNowError,
    pg.IdleInTransactionSessionTimeoutError,
    EOFError,
)
"""The connection is gone: what was on the way may be done or not."""

AGAIN: Final = (pg.SerializationError, pg.DeadlockDetectedError)
"""The transaction was undone only because of what another did: the same again may succeed."""

_CALLERS: Final = (
    TypeError, ValueError, OverflowError,
    pg.DataError, pg.IntegrityConstraintViolationError, pg.ProgramLimitExceededError,
)  # fmt: skip
"""The caller's own data can't be kept: no Unicode, beyond 64 bits, against a rule."""


def is_lost(error: BaseException) -> bool:
    """Whether the connection went while something was on the way."""
    if isinstance(error, pg.InterfaceError):
        # The driver says it so of a connection that it has closed itself.
        return "closed" in str(error)
    return isinstance(error, LOST)


def is_callers(error: Exception) -> bool:
    """The caller's data is at fault, so that its neighbours would not meet the same."""
    if isinstance(error, StagepostError):
        return not isinstance(error, StoreUnavailable)
    return isinstance(error, _CALLERS) and not is_lost(error)


def reason(error: Exception) -> str:
    """One sentence with the remedy; it never holds a password."""
    match error:
        case pg.DiskFullError():
            return "The database's disk is full; free some space and try again."
        case pg.TooManyConnectionsError():
            return "The database has no connection left; raise its max_connections."
        case pg.OutOfMemoryError():
            return "The database is out of memory; give it more, or ask for less."
        case pg.ReadOnlySQLTransactionError():
            return "The database is read-only, as a standby is; name the primary."
        case pg.QueryCanceledError():
            return "The database took too long to answer; try again, or ask for less."
        case pg.LockNotAvailableError() | pg.DeadlockDetectedError() | pg.SerializationError():
            return "The database is busy with the same rows; try again in a moment."
        case pg.InsufficientPrivilegeError():
            return f"The database's role lacks a right ({error}); grant it."
        case pg.UndefinedTableError() | pg.UndefinedColumnError() | pg.InvalidSchemaNameError():
            return f"The database's schema is not Stagepost's ({error}); restart to see why."
    if is_lost(error):
        return "The database does not answer; what waits for it goes on when it is back."
    return f"The store could not do this ({type(error).__name__}: {error})."


def refusal(error: Exception) -> StagepostError:
    """What the caller of the intent that met this error is told."""
    if isinstance(error, StagepostError):
        return error
    if isinstance(error, asyncpg.UniqueViolationError):
        return Conflict("Something of this id or name is there already.")
    if is_callers(error):
        return Unwritable(f"The store can't keep this ({error}).")
    return StoreUnavailable(reason(error))
