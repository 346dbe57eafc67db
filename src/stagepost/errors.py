"""What Stagepost raises at its callers.

Exception
└── InvalidInput    what the caller gave can't be worked on; the message says why and what to do
"""


class InvalidInput(Exception):  # noqa: N818 - users read and write this name
    """The input itself is at fault: a retry with the same input ends the same way.

    Its message is shown to the user: one or two sentences with the remedy, no internals.
    """
