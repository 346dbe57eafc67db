"""Whole files through the sandbox: what is read, and what is refused with which words."""

import hashlib
import os
import zipfile
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from reportlab.pdfgen.canvas import Canvas

from stagepost import InvalidInput
from stagepost.tasks.documents import Document, Limits, read_document
from tasks.documents import making

LEASE = "The parties agree to the terms of this lease of the premises at 1 Main Street."


Read = Callable[..., Awaitable[Document]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    async def reading(data: bytes, name: str = "contract", **options: object) -> Document:
        path = tmp_path / "upload"
        path.write_bytes(data)
        return await read_document(path, name=name, **options)  # type: ignore[arg-type]

    return reading


class TestPdf:
    async def test_pages_tile_the_text_and_hold_their_own(self, read: Read) -> None:
        data = making.pdf(f"{LEASE}\nSecond line.", f"{LEASE} Page two.")
        document = await read(data, name="lease.bin")
        assert document.media_type == "application/pdf"
        assert document.name == "lease.bin"
        assert document.bytes == len(data)
        assert document.sha256 == hashlib.sha256(data).hexdigest()
        assert document.language == "en"
        first, second = document.pages
        assert document.text[first.start : first.end] == f"{LEASE}\nSecond line.\n"
        assert document.text[second.start : second.end] == f"{LEASE} Page two."
        assert document.page_at(document.text.index("Page two")) == 2

    async def test_an_owner_password_alone_does_not_stop_reading(self, read: Read) -> None:
        document = await read(making.encrypted(making.pdf(LEASE), user=""))
        assert document.text == LEASE

    async def test_a_user_password_is_refused_as_encrypted(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match=r"encrypted.*without the password"):
            await read(making.encrypted(making.pdf(LEASE), user="secret"))

    async def test_a_file_without_its_end_is_repaired_and_says_so(self, read: Read) -> None:
        data = making.pdf(LEASE)
        document = await read(data[: data.rindex(b"xref\n0")])
        assert document.text == LEASE
        assert any("repaired" in warning for warning in document.warnings)

    async def test_noise_behind_a_signature_is_refused(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match="damaged beyond repair"):
            await read(b"%PDF-1.7\n" + os.urandom(20_000))

    async def test_a_page_tree_that_holds_itself_is_refused(self, read: Read) -> None:
        loop = making.raw_pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>",
        )
        with pytest.raises(InvalidInput, match="damaged"):
            await read(loop)

    async def test_a_flate_bomb_is_refused_before_it_is_unpacked(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match="unpacks to far more data"):
            await read(making.flate_bomb(300))

    async def test_a_content_stream_dressed_as_a_picture_is_measured_too(self, read: Read) -> None:
        dressed = making.flate_bomb(300).replace(b"/Filter [", b"/Subtype /Image /Filter [")
        with pytest.raises(InvalidInput, match="unpacks to far more data"):
            await read(dressed)

    async def test_a_huge_page_is_read_and_warned_of(self, read: Read) -> None:
        document = await read(making.pdf(LEASE, size=(14_400_000, 14_400_000)))
        assert document.text == LEASE
        assert document.warnings == ("Page 1 has an impossible page size; only the text was read.",)

    async def test_pages_past_the_limit_are_refused_with_the_limit(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match="4 pages; at most 3 can be read"):
            await read(making.pdf(*[LEASE] * 4), limits=Limits(pages=3))

    async def test_text_past_the_limit_is_refused(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match="more text than can be read"):
            await read(making.pdf(LEASE), limits=Limits(characters=20))

    async def test_pages_without_text_are_warned_of_in_one_sentence(self, read: Read) -> None:
        document = await read(making.pdf("", LEASE, "", "", LEASE, ""))
        assert document.warnings == (
            "Pages 1, 3-4 and 6 have no text (a picture or blank), so nothing there was read.",
        )
        assert len(document.pages) == 6

    async def test_a_file_without_any_text_is_refused(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match=r"no text.*OCR"):
            await read(making.pdf("", ""))

    async def test_a_scan_with_a_stamp_counts_as_without_text(self, read: Read) -> None:
        pixel = making.stream(
            b"\xff\x00\x00",
            b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8"
            b" /ColorSpace /DeviceRGB",
        )
        scan = making.one_page_pdf(
            making.stream(b"q 612 0 0 792 0 0 cm /I Do Q " + making.show("Page 1 of 1")),
            pixel,
            resources=b"/XObject << /I 6 0 R >>",
        )
        with pytest.raises(InvalidInput, match="only pictures"):
            await read(scan)

    async def test_filled_form_fields_are_part_of_the_text(self, read: Read) -> None:
        out = BytesIO()
        canvas = Canvas(out)
        canvas.drawString(60, 700, LEASE)
        canvas.acroForm.textfield(value="Jane Tenant", x=60, y=600, width=200, height=20)
        canvas.save()
        document = await read(out.getvalue())
        assert "Jane Tenant" in document.text

    async def test_fields_without_a_drawn_value_are_read_too(self, read: Read) -> None:
        out = BytesIO()
        canvas = Canvas(out)
        canvas.drawString(60, 700, LEASE)
        canvas.acroForm.textfield(name="tenant", x=60, y=600, width=200, height=20)
        canvas.save()
        filled = BytesIO()
        with pikepdf.open(BytesIO(out.getvalue())) as pdf:
            (field,) = pdf.Root.AcroForm.Fields
            field.V = pikepdf.String("Jane Tenant")
            del field["/AP"]
            pdf.Root.AcroForm.NeedAppearances = True
            pdf.save(filled)
        assert "Jane Tenant" in (await read(filled.getvalue())).text

    async def test_shapes_become_ordinary_characters(self, read: Read) -> None:
        cmap = making.stream(
            b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap"
            b" 1 begincodespacerange <00> <FF> endcodespacerange"
            b" 4 beginbfchar <41> <FB01> <42> <00A0> <43> <2F26> <44> <037E> endbfchar"
            b" endcmap end end"
        )
        font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R >>"
        data = making.one_page_pdf(
            making.stream(b"BT /F2 12 Tf 72 700 Td (ABCD) Tj ET"), font, cmap
        ).replace(b"/F1 5 0 R", b"/F2 6 0 R")
        assert (await read(data)).text == "fi 子;"


class TestText:
    async def test_text_is_the_decoded_file(self, read: Read) -> None:
        document = await read(b"\xef\xbb\xbfOne\r\n\r\n  Two\rThree\n")
        assert document.text == "One\r\n\r\n  Two\rThree\n"
        assert document.media_type == "text/plain"
        assert [(page.start, page.end) for page in document.pages] == [(0, len(document.text))]

    async def test_chinese_in_an_older_character_set(self, read: Read) -> None:
        text = "房屋租赁合同\n第一条 甲方将房屋出租给乙方，租赁期限为二年。"
        document = await read(text.encode("gb18030"))
        assert document.text == text
        assert document.language == "zh"

    @pytest.mark.parametrize(("name", "declared"), [("terms.MD", None), ("terms", "text/markdown")])
    async def test_markdown_is_told_by_name_or_declaration(
        self, read: Read, name: str, declared: str | None
    ) -> None:
        document = await read(b"# Terms\n\nText.", name=name, media_type=declared)
        assert document.media_type == "text/markdown"
        assert document.text == "# Terms\n\nText."

    @pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
    async def test_nothing_is_refused(self, read: Read, data: bytes) -> None:
        with pytest.raises(InvalidInput, match="Upload the contract itself"):
            await read(data)

    async def test_too_many_characters_are_refused(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match="1,001 characters; at most 1,000"):
            await read(b"a" * 1001, limits=Limits(characters=1000))

    async def test_binary_data_is_refused(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match="is not a PDF, Word, text or Markdown file"):
            await read(bytes(range(256)) * 40)


class TestDocx:
    async def test_paragraphs_become_lines(self, read: Read) -> None:
        data = making.docx(making.paragraph("One &amp; two.") + making.paragraph("Three."))
        document = await read(data, name="contract.pdf")
        assert document.text == "One & two.\nThree."
        assert document.media_type.endswith("wordprocessingml.document")

    async def test_a_zip_bomb_is_refused_before_it_is_unpacked(self, read: Read) -> None:
        bomb = making.docx(f"<w:p><w:r><w:t>{' ' * 100_000_000}</w:t></w:r></w:p>")
        assert len(bomb) < 200_000
        with pytest.raises(InvalidInput, match="unpacks to far more data"):
            await read(bomb)

    async def test_entities_are_refused(self, read: Read) -> None:
        laughs = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        data = making.docx("<w:p><w:r><w:t>&b;</w:t></w:r></w:p>", prologue=laughs)
        with pytest.raises(InvalidInput, match="damaged"):
            await read(data)

    async def test_an_empty_document_is_refused(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match="holds no text"):
            await read(making.docx("<w:p/>"))

    async def test_half_a_document_is_refused(self, read: Read) -> None:
        data = making.docx(making.paragraph(LEASE * 100))
        with pytest.raises(InvalidInput, match="damaged"):
            await read(data[: len(data) // 2])

    @pytest.mark.parametrize(
        ("entry", "words"),
        [("xl/workbook.xml", "an Excel workbook"), ("readme.txt", "a ZIP archive but no Word")],
    )
    async def test_other_archives_are_named(self, read: Read, entry: str, words: str) -> None:
        out = BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(entry, "<x/>")
        with pytest.raises(InvalidInput, match=words):
            await read(out.getvalue())

    @pytest.mark.parametrize(
        ("inside", "words"),
        [
            (b"\0" * 2000 + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
            (b"\0" * 2000 + "WordDocument".encode("utf-16-le"), r"old Office file \(.doc\)"),
        ],
    )
    async def test_old_and_encrypted_word_files_are_told_apart(
        self, read: Read, inside: bytes, words: str
    ) -> None:
        with pytest.raises(InvalidInput, match=words):
            await read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + inside)


class TestOtherFiles:
    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"{\\rtf1\\ansi Contract}", "RTF"),
            (b"\x89PNG\r\n\x1a\n\0\0\0", "picture"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "picture"),
            (b"\x1f\x8b\x08\0", "archive"),
            (b"\xef\xbb\xbf <!DOCTYPE html><html><body>Terms</body></html>", "web page"),
        ],
    )
    async def test_are_named_with_a_remedy(self, read: Read, data: bytes, words: str) -> None:
        with pytest.raises(InvalidInput, match=words):
            await read(data)

    async def test_a_file_past_the_size_limit_is_refused_unread(self, read: Read) -> None:
        with pytest.raises(InvalidInput, match=r"2\.0 MiB; at most 1 MiB"):
            await read(b"a" * 2 * 1024 * 1024, limits=Limits(bytes=1024 * 1024))

    async def test_a_named_pipe_is_refused_without_waiting(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InvalidInput, match="not a file"):
            await read_document(tmp_path / "pipe", name="pipe")

    async def test_a_missing_file_is_the_callers_own_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            await read_document(tmp_path / "none", name="none")
