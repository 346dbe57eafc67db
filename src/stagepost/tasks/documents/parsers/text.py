"""Plain text and Markdown: the decoded file as it is."""

from stagepost.tasks.documents.limits import Limits
from stagepost.tasks.documents.parsers.charset import decoded
from stagepost.tasks.documents.parsers.refusal import Extract, Refusal, one_page


def read_text(data: bytes, limits: Limits) -> Extract:
    """The decoded file without its byte order mark; newlines are kept as they are."""
    return _read(data, limits, "text/plain")


def read_markdown(data: bytes, limits: Limits) -> Extract:
    """As `read_text`: the marks of Markdown stay in the text."""
    return _read(data, limits, "text/markdown")


def _read(data: bytes, limits: Limits, media_type: str) -> Extract:
    text, warnings = decoded(data)
    if not text.strip():
        raise Refusal("The file holds no text, only blanks. Upload the contract itself.")
    if len(text) > limits.characters:
        raise Refusal(
            f"The file has {len(text):,} characters; at most {limits.characters:,} can be read. "
            "Split it and upload the parts."
        )
    return one_page(media_type, text, warnings)
