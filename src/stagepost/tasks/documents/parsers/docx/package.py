"""The ZIP archive that a DOCX is, and its XML parts, bounded before anything is unpacked."""

import zipfile
import zlib
from io import BytesIO
from posixpath import dirname, join, normpath

from lxml import etree

from stagepost.tasks.documents.limits import MIB
from stagepost.tasks.documents.parsers.docx.tags import only_child
from stagepost.tasks.documents.parsers.refusal import Refusal

_MOST_ENTRIES = 10_000
_MOST_BYTES = 512 * MIB  # all entries unpacked, pictures included
_MOST_PART = 48 * MIB  # one XML part: a parsed tree takes some ten times its text
_SMALL = 32 * MIB  # up to here any ratio is harmless
_MOST_RATIO = 200  # unpacked to packed; text reaches 20

_BOMB = (
    "This Word document unpacks to far more data than a contract holds, so it was not opened. "
    "Save it as a PDF and upload that one."
)
_NOT_WORD = (
    "This is a ZIP archive but no Word document (.docx). "
    "Upload the contract itself as PDF, DOCX or text."
)
_DAMAGED = "This Word document is damaged. Open it in Word, save it again and upload the new copy."
_KNOWN = {
    "xl/workbook.xml": "an Excel workbook",
    "ppt/presentation.xml": "a PowerPoint presentation",
    "content.xml": "an OpenDocument file",
}


class Package:
    """The parts of one Word document. Raises Refusal when built from anything else."""

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise Refusal(_DAMAGED) from error
        self._entries = {entry.filename: entry for entry in _checked(self._archive)}
        self._main = self._main_part()
        root = self._parsed(self._main)
        body = None if root is None else only_child(root, "body")
        if body is None:
            raise Refusal(_DAMAGED)
        self.document = body

    def part(self, name: str) -> etree._Element | None:
        """The root of a part beside the main one, as `styles` or `footnotes`; None without it."""
        return self._parsed(join(dirname(self._main), f"{name}.xml"))

    def _main_part(self) -> str:
        """The name of the part with the text: where the package says, or where Word puts it."""
        relations = self._parsed("_rels/.rels")
        for relation in () if relations is None else relations:
            if relation.get("Type", "").endswith("/officeDocument"):
                name = normpath(relation.get("Target", "").lstrip("/"))
                if name in self._entries and name.startswith("word/"):
                    return name
        if "word/document.xml" in self._entries:
            return "word/document.xml"
        for name, what in _KNOWN.items():
            if name in self._entries:
                raise Refusal(f"This is {what}. Upload the contract itself as PDF, DOCX or text.")
        raise Refusal(_NOT_WORD)

    def _parsed(self, name: str) -> etree._Element | None:
        """The part's root element; no entity is expanded and nothing is fetched."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.file_size > _MOST_PART:
            raise Refusal(_BOMB)
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
            huge_tree=False,
        )
        try:
            root = etree.fromstring(self._archive.read(entry), parser)
        except (etree.XMLSyntaxError, zipfile.BadZipFile, *_UNPACKING) as error:
            raise Refusal(_DAMAGED) from error
        if root.getroottree().docinfo.doctype:
            raise Refusal(_DAMAGED)
        return root


# What zipfile raises for an entry that is damaged, encrypted or packed in a way it doesn't know.
_UNPACKING = (zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


def _checked(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The entries, if they unpack to a sane amount. Sizes that lie fail when they are read."""
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries) + 1
    if len(entries) > _MOST_ENTRIES or total > _MOST_BYTES:
        raise Refusal(_BOMB)
    if total > _SMALL and total > packed * _MOST_RATIO:
        raise Refusal(_BOMB)
    return entries
