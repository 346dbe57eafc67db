"""Makes the files that the tests read: honest ones and hostile ones."""

import zipfile
import zlib
from io import BytesIO

import pikepdf
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT_WORD = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def pdf(*pages: str, size: tuple[float, float] = A4) -> bytes:
    """A PDF with a page for each text, line by line."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=size)
    for page in pages:
        for number, line in enumerate(page.splitlines()):
            canvas.drawString(60, size[1] - 60 - 14 * number, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def encrypted(data: bytes, *, user: str) -> bytes:
    """The PDF encrypted with an owner's password, and a user's unless that is empty."""
    out = BytesIO()
    with pikepdf.open(BytesIO(data)) as document:
        document.save(out, encryption=pikepdf.Encryption(owner="owner", user=user))
    return out.getvalue()


def raw_pdf(*objects: bytes) -> bytes:
    """A PDF of hand-written objects, numbered from 1, the first one its catalogue."""
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def one_page_pdf(content: bytes, *more: bytes, resources: bytes = b"", page: bytes = b"") -> bytes:
    """A PDF whose page draws `content` (object 4); `more` are the objects from 6 on."""
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> %s >> %s >>" % (resources, page),
        content,
        FONT,
        *more,
    )


def show(text: str) -> bytes:
    """The operators that print one line of text."""
    return b"BT /F1 12 Tf 72 700 Td (%s) Tj ET\n" % text.encode("latin-1")


def flate_bomb(megabytes: int) -> bytes:
    """A page whose content is blanks, compressed twice, so that a few kilobytes hold them."""
    squeezer = zlib.compressobj(9)
    blanks = b" " * (1024 * 1024)
    once = b"".join(squeezer.compress(blanks) for _ in range(megabytes)) + squeezer.flush()
    return one_page_pdf(stream(zlib.compress(once, 9), b"/Filter [/FlateDecode /FlateDecode]"))


def form_bomb(depth: int = 12, fan: int = 10) -> bytes:
    """Forms that draw forms: `fan ** depth` pieces of text from a file of two kilobytes."""
    first = 6
    forms = [
        stream(
            b"/X Do " * fan,
            b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
            b" /Resources << /XObject << /X %d 0 R >> >>" % (first + level + 1),
        )
        for level in range(depth)
    ]
    leaf = stream(
        show("boom"),
        b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >>",
    )
    return one_page_pdf(
        stream(b"/X Do"), *forms, leaf, resources=b"/XObject << /X %d 0 R >>" % first
    )


def paragraph(text: str, properties: str = "") -> str:
    return (
        f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def numbered(text: str, *, level: int = 0, num: int = 1) -> str:
    """A paragraph that Word would number."""
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num}"/></w:numPr>')


def level(at: int, kind: str, text: str, more: str = "") -> str:
    """One level of an abstract list."""
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def numbering(*levels: str, nums: str = "") -> str:
    """A `numbering` part of one abstract list and the list 1, plus other `w:num` elements."""
    return (
        f'<w:abstractNum w:abstractNumId="0">{"".join(levels)}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>{nums}'
    )


def docx(body: str, *, space: str = WORD, prologue: str = "", **parts: str) -> bytes:
    """A Word document of that body; `parts` are the inside of the parts of those names."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r" Target="word/document.xml"'
            f' Type="{_OFFICE}/officeDocument"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml", f"{prologue}{_root('document', f'<w:body>{body}</w:body>', space)}"
        )
        for name, inside in parts.items():
            archive.writestr(f"word/{name}.xml", _root(name, inside, space))
    return out.getvalue()


def _root(name: str, inside: str, space: str) -> str:
    extra = (
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
        'xmlns:v="urn:schemas-microsoft-com:vml"'
    )
    return f'<w:{name} xmlns:w="{space}" {extra}>{inside}</w:{name}>'
