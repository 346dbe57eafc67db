"""What a file is, by its first bytes. A name can lie; these bytes are what a parser will see."""

from typing import Literal

from stagepost import InvalidInput

Kind = Literal["pdf", "zip", "ole", "text", "markdown"]
HEAD = 1024  # bytes; PDF readers look this far for the signature

_REFUSED: tuple[tuple[bytes, str], ...] = (
    (b"{\\rtf", "an RTF file. Save it as .docx or PDF and upload that copy."),
    (b"\x89PNG", "a picture. Put its pages into a PDF with text recognition (OCR)."),
    (b"\xff\xd8\xff", "a picture. Put its pages into a PDF with text recognition (OCR)."),
    (b"II*\x00", "a picture. Put its pages into a PDF with text recognition (OCR)."),
    (b"MM\x00*", "a picture. Put its pages into a PDF with text recognition (OCR)."),
    (b"GIF8", "a picture. Put its pages into a PDF with text recognition (OCR)."),
    (b"RIFF", "a picture, sound or video. Upload the contract as PDF, DOCX or text."),
    (b"\x1f\x8b", "a compressed archive. Unpack it and upload the contract inside."),
    (b"7z\xbc\xaf", "a compressed archive. Unpack it and upload the contract inside."),
    (b"Rar!", "a compressed archive. Unpack it and upload the contract inside."),
    (b"\x7fELF", "a program. Upload the contract as PDF, DOCX or text."),
)
_WEB_PAGE = (b"<!doctype html", b"<html")


def kind_of(head: bytes, *, name: str, media_type: str | None) -> Kind:
    """The parser for a file that begins with `head`. Raises InvalidInput for known other kinds."""
    if b"%PDF-" in head:
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return "ole"
    for signature, what in _REFUSED:
        if head.startswith(signature):
            raise InvalidInput(f"This is {what}")
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_WEB_PAGE):
        raise InvalidInput("This is a web page. Print it to a PDF and upload that one.")
    if media_type == "text/markdown" or name.lower().endswith((".md", ".markdown")):
        return "markdown"
    return "text"
