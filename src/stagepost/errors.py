"""The exceptions that a handler raises."""


class InvalidInput(Exception):  # noqa: N818 - part of the public vocabulary
    """The input cannot be worked on; the message is one sentence for the user."""
