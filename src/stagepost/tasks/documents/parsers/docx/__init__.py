"""DOCX: what Word would print of its body, footnotes included, headers and footers left out."""

from stagepost.tasks.documents.limits import Limits
from stagepost.tasks.documents.parsers.docx.body import Body
from stagepost.tasks.documents.parsers.docx.numbering import Numbering
from stagepost.tasks.documents.parsers.docx.package import Package
from stagepost.tasks.documents.parsers.refusal import Extract, Refusal, one_page

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def read_docx(data: bytes, limits: Limits) -> Extract:
    """The document as one page of lines: a paragraph or a table row each.

    Automatic numbers are written out, insertions kept, deletions dropped. Raises Refusal.
    """
    package = Package(data)
    body = Body(
        numbering=Numbering(package.part("numbering"), package.part("styles")),
        footnotes=package.part("footnotes"),
        endnotes=package.part("endnotes"),
        most_characters=limits.characters,
    )
    text = "\n".join(body.lines(package.document))
    if not text.strip():
        raise Refusal(
            "This Word document holds no text. If its pages are pictures, run text recognition "
            "(OCR) on them and upload the result."
        )
    return one_page(MEDIA_TYPE, text, tuple(body.warnings))
