"""PDF with a text layer: repaired by qpdf, measured, and read page by page by PDFium.

PDFium never sees the original: it reads what qpdf wrote anew, so what was measured is what is read.
"""

from collections.abc import Iterator
from contextlib import closing
from io import BytesIO

import pikepdf
import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]
from pikepdf.settings import set_qpdf_limits

from stagepost.tasks.documents.limits import Limits
from stagepost.tasks.documents.parsers import streams
from stagepost.tasks.documents.parsers.glyphs import plain, unhyphenated
from stagepost.tasks.documents.parsers.pagelist import pages_as_words
from stagepost.tasks.documents.parsers.refusal import Extract, Refusal

MEDIA_TYPE = "application/pdf"
WIDEST_PAGE = 14_400  # PDF units of 1/72 inch: the largest page that the format's makers support
FEW_CHARACTERS = 50  # a page with fewer and a picture is taken for a scan

_ENCRYPTED = (
    "This PDF is encrypted with a password. Save a copy without the password and upload that one."
)
_DAMAGED = (
    "This PDF is damaged beyond repair or is no PDF at all. "
    "Open it in a PDF reader, save it again and upload the new copy."
)
_NO_TEXT = (
    "This PDF holds no text, only pictures of pages or blank ones. "
    "Run text recognition (OCR) on it and upload the result."
)
_UNREADABLE = (
    "The text of this PDF is stored in an encoding that can't be read back. "
    "Upload the Word file, or print the PDF and run text recognition (OCR) on it."
)
_END = b"\n%%EOF\n"  # qpdf loses an object that a cut-off file ends with
_REPAIRED = "The PDF was damaged and has been repaired; parts of it may be missing."


def read_pdf(data: bytes, limits: Limits) -> Extract:
    """The text of every page, each ending with a newline but the last. Raises Refusal."""
    sound, warnings = _rewritten(data, limits)
    del data
    texts, unread = _read_pages(sound, limits)
    if len(unread) == len(texts):
        raise Refusal(_DAMAGED if _REPAIRED in warnings else _NO_TEXT)
    if unread:
        warnings.append(
            f"{pages_as_words(unread)} no text (a picture or blank), so nothing there was read."
        )
    text, pages = _joined(texts)
    if _is_gibberish(text):
        raise Refusal(_UNREADABLE)
    return Extract(MEDIA_TYPE, text, pages, tuple(warnings))


def _rewritten(data: bytes, limits: Limits) -> tuple[bytes, list[str]]:
    """The file as qpdf understands it, and what its owner should know. Raises Refusal."""
    set_qpdf_limits(
        flate_max_memory=streams.MOST_ONE_STREAM,
        run_length_max_memory=streams.MOST_ONE_STREAM,
        png_max_memory=streams.MOST_ONE_STREAM,
        tiff_max_memory=streams.MOST_ONE_STREAM,
    )
    try:
        with pikepdf.open(BytesIO(data + _END)) as pdf:
            _check_page_count(len(pdf.pages), limits)
            warnings = _oversized(pdf)
            _measure(pdf)
            _print_form_fields(pdf)
            out = BytesIO()
            pdf.save(
                out,
                compress_streams=False,
                stream_decode_level=pikepdf.StreamDecodeLevel.none,
                object_stream_mode=pikepdf.ObjectStreamMode.disable,
            )
            if pdf.get_warnings():
                warnings.insert(0, _REPAIRED)
            return out.getvalue(), warnings
    except pikepdf.PasswordError:
        raise Refusal(_ENCRYPTED) from None
    except pikepdf.PdfError as error:
        raise Refusal(_ENCRYPTED if "encrypt" in str(error) else _DAMAGED) from error


def _check_page_count(pages: int, limits: Limits) -> None:
    if not pages:
        raise Refusal(_DAMAGED)
    if pages > limits.pages:
        raise Refusal(
            f"This PDF has {pages:,} pages; at most {limits.pages:,} can be read. "
            "Split it and upload the parts."
        )


def _oversized(pdf: pikepdf.Pdf) -> list[str]:
    """A warning for pages of an impossible size: their text is read, they are never drawn."""
    numbers = [number for number, page in enumerate(pdf.pages, 1) if _span(page.obj) > WIDEST_PAGE]
    if not numbers:
        return []
    return [f"{pages_as_words(numbers)} an impossible page size; only the text was read."]


def _span(page: pikepdf.Object) -> float:
    """The longer side of a page's own box; 0 when it has none or a senseless one."""
    try:
        left, bottom, right, top = (float(side) for side in page.get("/MediaBox", ()))
    except (TypeError, ValueError):
        return 0
    return max(abs(right - left), abs(top - bottom))


def _measure(pdf: pikepdf.Pdf) -> None:
    """Refuses a file whose streams decode to too much.

    Pictures are left out, because reading text never decodes them, unless a page claims one as its
    content.
    """
    contents = {part.objgen for page in pdf.pages for part in _contents(page.obj)}
    total = 0
    for stream in pdf.objects:
        if not isinstance(stream, pikepdf.Stream):
            continue
        if stream.get("/Subtype") == "/Image" and stream.objgen not in contents:
            continue
        total += streams.decoded_size(stream.read_raw_bytes(), _filters(stream))
        streams.check_total(total)


def _contents(page: pikepdf.Object) -> Iterator[pikepdf.Object]:
    content = page.get("/Contents")
    if isinstance(content, pikepdf.Array):
        yield from (part for part in content if isinstance(part, pikepdf.Object))
    elif isinstance(content, pikepdf.Object):
        yield content


def _filters(stream: pikepdf.Stream) -> list[str]:
    given = stream.get("/Filter")
    names = given if isinstance(given, pikepdf.Array) else [given]
    return [str(name).removeprefix("/") for name in names if isinstance(name, pikepdf.Name)]


def _print_form_fields(pdf: pikepdf.Pdf) -> None:
    """Makes what was typed into form fields part of the pages, as on paper."""
    form = pdf.Root.get("/AcroForm")
    if isinstance(form, pikepdf.Dictionary) and form.get("/Fields"):
        if form.get("/NeedAppearances"):
            pdf.generate_appearance_streams()
        pdf.flatten_annotations(mode="print")


def _read_pages(data: bytes, limits: Limits) -> tuple[list[str], list[int]]:
    """Each page's text, and the numbers of those that have none to speak of."""
    texts: list[str] = []
    unread: list[int] = []
    left = limits.characters
    with pypdfium2.PdfDocument(data) as pdf:
        for number in range(1, len(pdf) + 1):
            text, scanned = _read_page(pdf, number - 1, left)
            left -= len(text) + 1
            texts.append(text)
            if scanned:
                unread.append(number)
    return texts, unread


def _read_page(pdf: pypdfium2.PdfDocument, index: int, left: int) -> tuple[str, bool]:
    """One page's text as it is printed, and whether the page is a picture or blank."""
    try:
        page = pdf[index]
    except pypdfium2.PdfiumError:
        return "", True
    with closing(page), closing(page.get_textpage()) as content:
        if content.count_chars() > left:
            raise Refusal(
                "This PDF holds more text than can be read. Split it and upload the parts."
            )
        text = plain(content.get_text_bounded())
        few = len(text.strip()) < FEW_CHARACTERS
        return text, not text.strip() or (few and _has_picture(page))


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    return any(page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,), max_depth=3))


def _joined(texts: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    texts = unhyphenated(texts)
    ranges: list[tuple[int, int]] = []
    start = 0
    for number, text in enumerate(texts, 1):
        end = start + len(text) + (number < len(texts))
        ranges.append((start, end))
        start = end
    return "\n".join(texts), tuple(ranges)


def _is_gibberish(text: str) -> bool:
    """Whether over a fifth of the text is private or unknown characters: fonts without a map."""
    visible = sum(not char.isspace() for char in text)
    unknown = sum("\ue000" <= char <= "\uf8ff" or char == "\ufffd" for char in text)
    return unknown * 5 > visible
