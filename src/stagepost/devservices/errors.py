"""Why a development service could not be started or stopped.

DevServiceError
├── RefusedError        the machine, a folder or a file says no; the sentence names the remedy
└── NotAnsweringError   a service or a lock did not answer in time
"""


class DevServiceError(Exception):
    """One sentence for the person at the shell."""


class RefusedError(DevServiceError):
    """Trying again changes nothing until the named remedy is applied."""


class NotAnsweringError(DevServiceError):
    """Something did not answer within its time-out."""
