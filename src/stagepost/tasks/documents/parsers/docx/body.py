"""The walk over a document's body: blocks to lines."""

from collections.abc import Iterator

from lxml import etree

from stagepost.tasks.documents.parsers.docx.numbering import Numbering
from stagepost.tasks.documents.parsers.docx.runs import Runs
from stagepost.tasks.documents.parsers.docx.tags import attribute, children, local, only_child
from stagepost.tasks.documents.parsers.refusal import Refusal

_SPECIAL_NOTES = {"separator", "continuationSeparator", "continuationNotice"}
_HIDDEN = "Text that Word hides was left out."
_TRACKED = "The document has tracked changes: insertions were read, deletions left out."
_FOREIGN = "The document embeds another file, which was not read."


class Body:
    """The lines of one document, and what its owner should know. Used for one walk."""

    def __init__(
        self,
        *,
        numbering: Numbering,
        footnotes: etree._Element | None,
        endnotes: etree._Element | None,
        most_characters: int,
    ) -> None:
        self._numbering = numbering
        self._notes = {"footnote": footnotes, "endnote": endnotes}
        self._left = most_characters
        self._runs = Runs()
        self._joined_on = ""  # text of paragraphs whose end was deleted: it opens the next one
        self._foreign = False

    @property
    def warnings(self) -> list[str]:
        """Sentences for the document's owner; complete once the lines were read."""
        found = (
            (self._runs.tracked, _TRACKED),
            (self._runs.hidden, _HIDDEN),
            (self._foreign, _FOREIGN),
        )
        return [sentence for seen, sentence in found if seen]

    def lines(self, body: etree._Element) -> Iterator[str]:
        """Every paragraph and table row, then the notes in the order of their marks.

        Raises Refusal when there is more text than may be read.
        """
        for line in self._all_lines(body):
            self._left -= len(line) + 1
            if self._left < 0:
                raise Refusal(
                    "This Word document holds more text than can be read. "
                    "Split it and upload the parts."
                )
            yield line

    def _all_lines(self, body: etree._Element) -> Iterator[str]:
        yield from self._blocks(body)
        if self._joined_on:
            yield self._joined_on
        for kind, root in self._notes.items():
            yield from self._note_lines(kind, root)

    def _blocks(self, parent: etree._Element) -> Iterator[str]:
        for block in parent:
            match local(block):
                case "p":
                    yield from self._paragraph(block)
                case "tbl":
                    yield from self._table(block)
                case "sdt":
                    content = only_child(block, "sdtContent")
                    yield from () if content is None else self._blocks(content)
                case "customXml" | "smartTag" | "ins" | "moveTo":
                    yield from self._blocks(block)
                case "del" | "moveFrom":
                    self._runs.tracked = True
                case "AlternateContent":
                    yield from self._blocks(block[0]) if len(block) else ()
                case "altChunk":
                    self._foreign = True

    def _paragraph(self, paragraph: etree._Element) -> Iterator[str]:
        """The paragraph's line or lines (it may hold breaks), then those of its text boxes."""
        text, boxes = self._runs.read(paragraph)
        properties = only_child(paragraph, "pPr")
        mark = only_child(properties, "rPr")
        if mark is not None and any(local(child) in {"del", "moveFrom"} for child in mark):
            self._runs.tracked = True
            self._joined_on += text
        else:
            label = self._numbering.label(properties)
            yield f"{label}{self._joined_on}{text}".rstrip()
            self._joined_on = ""
        for box in boxes:
            yield from self._blocks(box)

    def _table(self, table: etree._Element) -> Iterator[str]:
        for row in _rows(table):
            change = only_child(row, "trPr", "del")
            if change is not None:
                self._runs.tracked = True
                continue
            cells = [[line for line in self._blocks(cell) if line.strip()] for cell in _cells(row)]
            yield from _row(cells)

    def _note_lines(self, kind: str, root: etree._Element | None) -> Iterator[str]:
        """The notes that the text has marks for, each line with its mark first."""
        if root is None:
            return
        notes = {
            attribute(note, "id"): note
            for note in children(root, kind)
            if attribute(note, "type") not in _SPECIAL_NOTES
        }
        for mark, ident in self._runs.marks(kind):
            note = notes.pop(ident, None)
            text = " ".join(self._blocks(note)).strip() if note is not None else ""
            if text:
                yield f"{mark} {text}"


def _rows(table: etree._Element) -> Iterator[etree._Element]:
    """The rows of a table, content controls around them seen through."""
    for child in table:
        match local(child):
            case "tr":
                yield child
            case "sdt" | "sdtContent" | "customXml":
                yield from _rows(child)


def _cells(row: etree._Element) -> Iterator[etree._Element]:
    for child in row:
        match local(child):
            case "tc":
                yield child
            case "sdt" | "sdtContent" | "customXml":
                yield from _cells(child)


def _row(cells: list[list[str]]) -> Iterator[str]:
    """One line with tabs between short cells; a line each for cells of several paragraphs.

    Contracts laid out as a table keep whole clauses in their cells: those stay lines of their own.
    """
    if all(len(cell) <= 1 for cell in cells):
        yield "\t".join(cell[0] if cell else "" for cell in cells).rstrip()
    else:
        for cell in cells:
            yield from cell
