"""Why a development service could not be started or stopped.

DevServiceError
├── Refused        the machine, a folder or a file says no; the sentence names the remedy
└── NotAnswering   a service or a lock did not answer in time
"""


class DevServiceError(Exception):
    """One sentence for the person at the shell."""


class Refused(DevServiceError):
    """Trying again changes nothing until the named remedy is applied."""


class NotAnswering(DevServiceError):
    """Something did not answer within its time-out."""
