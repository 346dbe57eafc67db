"""The container of old Office files and of encrypted new ones: read only to say which it is."""

from stagepost.tasks.documents.limits import Limits
from stagepost.tasks.documents.parsers.refusal import Extract, Refusal


def read_ole(data: bytes, _limits: Limits) -> Extract:
    """Never returns: an encrypted Word file and an old one each get their own sentence."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise Refusal(
            "This Word file is encrypted with a password. "
            "Save a copy without the password and upload that one."
        )
    raise Refusal(
        "This is an old Office file (.doc). Open it, save it as .docx or PDF and upload that copy."
    )
