"""What a reader sees of a Word document, from hand-made parts."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.tasks.documents.limits import DEFAULT_LIMITS, Limits
from stagepost.tasks.documents.parsers.docx import read_docx
from stagepost.tasks.documents.parsers.refusal import Extract, Refusal
from tasks.documents.making import STRICT_WORD, docx, level, numbered, numbering, paragraph


def read(body: str, **options: str) -> Extract:
    return read_docx(docx(body, **options), DEFAULT_LIMITS)


def lines(body: str, **options: str) -> list[str]:
    return read(body, **options).text.split("\n")


LEGAL = (
    level(0, "decimal", "%1."),
    level(1, "decimal", "%1.%2"),
    level(2, "lowerLetter", "(%3)"),
    level(3, "lowerRoman", "(%4)"),
)


class TestNumbering:
    def test_levels_count_and_restart(self) -> None:
        body = "".join(numbered(str(at), level=at) for at in (0, 1, 1, 2, 2, 3, 1, 2, 0, 1, 2))
        labels = [line.split()[0] for line in lines(body, numbering=numbering(*LEGAL))]
        assert labels == [
            "1.", "1.1", "1.2", "(a)", "(b)", "(i)", "1.3", "(a)", "2.", "2.1", "(a)",
        ]  # fmt: skip

    def test_a_skipped_level_shows_its_start(self) -> None:
        body = numbered("first", level=1) + numbered("second", level=0) + numbered("x", level=1)
        assert lines(body, numbering=numbering(*LEGAL)) == ["1.1 first", "1. second", "1.1 x"]

    def test_chinese_articles_with_text_around_the_number(self) -> None:
        part = numbering(level(0, "chineseCountingThousand", "第%1条", '<w:suff w:val="space"/>'))
        body = numbered("定义") + numbered("租金")
        assert lines(body, numbering=part) == ["第一条 定义", "第二条 租金"]

    def test_nothing_between_number_and_text(self) -> None:
        part = numbering(level(0, "chineseCounting", "%1、", '<w:suff w:val="nothing"/>'))
        assert lines(numbered("定义"), numbering=part) == ["一、定义"]

    def test_legal_numbers_are_decimal_throughout(self) -> None:
        part = numbering(
            level(0, "upperRoman", "ARTICLE %1"), level(1, "decimal", "%1.%2", "<w:isLgl/>")
        )
        body = numbered("Rent") + numbered("Due date", level=1)
        assert lines(body, numbering=part) == ["ARTICLE I Rent", "1.1 Due date"]

    def test_a_level_may_go_on_counting(self) -> None:
        part = numbering(
            level(0, "decimal", "Part %1"), level(1, "decimal", "%2.", '<w:lvlRestart w:val="0"/>')
        )
        body = "".join(numbered("x", level=at) for at in (0, 1, 1, 0, 1))
        assert [line[:-2] for line in lines(body, numbering=part)] == [
            "Part 1", "1.", "2.", "Part 2", "3.",
        ]  # fmt: skip

    def test_lists_share_their_counter_unless_one_starts_anew(self) -> None:
        again = (
            '<w:num w:numId="2"><w:abstractNumId w:val="0"/></w:num>'
            '<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">'
            '<w:startOverride w:val="5"/></w:lvlOverride></w:num>'
        )
        body = "".join(numbered("x", num=num) for num in (1, 2, 3, 3, 1))
        found = lines(body, numbering=numbering(*LEGAL, nums=again))
        assert found == ["1. x", "2. x", "5. x", "6. x", "7. x"]

    def test_a_style_numbers_its_paragraphs_and_zero_takes_one_out(self) -> None:
        styles = (
            '<w:style w:type="paragraph" w:styleId="Base"><w:pPr><w:numPr><w:numId w:val="1"/>'
            "</w:numPr></w:pPr></w:style>"
            '<w:style w:type="paragraph" w:styleId="Sub"><w:basedOn w:val="Base"/><w:pPr><w:numPr>'
            '<w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>'
        )
        body = (
            paragraph("a", '<w:pStyle w:val="Base"/>')
            + paragraph("b", '<w:pStyle w:val="Sub"/>')
            + paragraph("c", '<w:pStyle w:val="Base"/><w:numPr><w:numId w:val="0"/></w:numPr>')
        )
        found = lines(body, numbering=numbering(*LEGAL), styles=styles)
        assert found == ["1. a", "1.1 b", "c"]

    def test_styles_based_on_each_other_end(self) -> None:
        styles = "".join(
            f'<w:style w:type="paragraph" w:styleId="{one}"><w:basedOn w:val="{other}"/></w:style>'
            for one, other in ("AB", "BA")
        )
        assert lines(paragraph("x", '<w:pStyle w:val="A"/>'), styles=styles) == ["x"]

    def test_bullets_are_bullets(self) -> None:
        part = numbering(level(0, "bullet", "\uf0b7"))
        assert lines(numbered("x"), numbering=part) == ["\u2022 x"]

    def test_an_unknown_list_is_no_list(self) -> None:
        assert lines(numbered("x", num=9), numbering=numbering(*LEGAL)) == ["x"]

    def test_a_linked_list_takes_its_levels_from_the_style(self) -> None:
        part = (
            '<w:abstractNum w:abstractNumId="0"><w:numStyleLink w:val="Legal"/></w:abstractNum>'
            f'<w:abstractNum w:abstractNumId="1">{LEGAL[0]}</w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
            '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
        )
        styles = (
            '<w:style w:type="numbering" w:styleId="Legal"><w:pPr><w:numPr><w:numId w:val="2"/>'
            "</w:numPr></w:pPr></w:style>"
        )
        assert lines(numbered("x"), numbering=part, styles=styles) == ["1. x"]


class TestRevisions:
    def test_insertions_stay_and_deletions_go(self) -> None:
        body = (
            "<w:p><w:r><w:t>The cap is </w:t></w:r>"
            "<w:del><w:r><w:delText>USD 100</w:delText></w:r></w:del>"
            "<w:ins><w:r><w:t>USD 999</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>gone</w:t></w:r>"
            "</w:moveFrom><w:r><w:t> a year.</w:t></w:r></w:p>"
        )
        found = read(body)
        assert found.text == "The cap is USD 999 a year."
        assert found.warnings == (
            "The document has tracked changes: insertions were read, deletions left out.",
        )

    def test_a_deleted_paragraph_end_joins_the_next_and_counts_no_number(self) -> None:
        mark = '<w:numPr><w:numId w:val="1"/></w:numPr><w:rPr><w:del w:id="1"/></w:rPr>'
        gone = f"<w:p><w:pPr>{mark}</w:pPr><w:del><w:r><w:delText>x</w:delText></w:r></w:del></w:p>"
        body = numbered("one") + gone + paragraph("two ", mark) + numbered("more")
        assert lines(body, numbering=numbering(*LEGAL)) == ["1. one", "2. two more"]

    def test_a_deleted_row_goes(self) -> None:
        row = "<w:tr>{}<w:tc>{}</w:tc></w:tr>"
        kept = row.format("", paragraph("kept"))
        gone = row.format("<w:trPr><w:del/></w:trPr>", paragraph("gone"))
        assert lines(f"<w:tbl>{kept}{gone}</w:tbl>") == ["kept"]


class TestContent:
    def test_short_cells_share_a_line_and_long_ones_have_their_own(self) -> None:
        cell = "<w:tc>{}</w:tc>".format
        table = (
            f"<w:tbl><w:tr>{cell(paragraph('Rent'))}{cell(paragraph('EUR 5'))}</w:tr>"
            f"<w:tr>{cell(paragraph('a') + paragraph('b'))}{cell(paragraph('c'))}</w:tr></w:tbl>"
        )
        assert lines(paragraph("Before") + table) == ["Before", "Rent\tEUR 5", "a", "b", "c"]

    def test_a_text_box_is_read_once(self) -> None:
        box = f"<w:txbxContent>{paragraph('boxed')}</w:txbxContent>"
        body = (
            "<w:p><w:r><w:t>text</w:t></w:r><w:r><mc:AlternateContent>"
            f'<mc:Choice Requires="wps"><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing>'
            f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
            "</mc:AlternateContent></w:r></w:p>"
        )
        assert lines(body) == ["text", "boxed"]

    def test_notes_follow_in_the_order_of_their_marks(self) -> None:
        reference = '<w:r><w:{0}Reference w:id="{1}"/></w:r>'.format
        body = (
            f"<w:p><w:r><w:t>A</w:t></w:r>{reference('footnote', 2)}"
            f"{reference('endnote', 2)}{reference('footnote', 3)}</w:p>"
        )
        footnotes = (
            '<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
            f'<w:footnote w:id="3">{paragraph("third")}</w:footnote>'
            f'<w:footnote w:id="2">{paragraph("second")}</w:footnote>'
        )
        endnotes = f'<w:endnote w:id="2">{paragraph("end")}</w:endnote>'
        found = lines(body, footnotes=footnotes, endnotes=endnotes)
        assert found == ["A[1][2][3]", "[1] second", "[3] third", "[2] end"]

    def test_breaks_tabs_hyphens_and_symbols(self) -> None:
        body = (
            "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/>"
            '<w:t>d</w:t><w:softHyphen/><w:t>e</w:t><w:sym w:font="Wingdings" w:char="F0FE"/>'
            "</w:r></w:p>"
        )
        assert lines(body) == ["a\tb", "c-de☑"]

    def test_fields_show_their_result_and_links_their_words(self) -> None:
        body = (
            '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF</w:instrText>'
            '</w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>Clause 4</w:t></w:r>'
            '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
            "<w:hyperlink><w:r><w:t> and more</w:t></w:r></w:hyperlink></w:p>"
        )
        assert lines(body) == ["Clause 4 and more"]

    def test_hidden_text_is_left_out_and_said(self) -> None:
        body = (
            "<w:p><w:r><w:t>seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t> unseen</w:t></w:r>"
            '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> shown</w:t></w:r></w:p>'
        )
        found = read(body)
        assert found.text == "seen shown"
        assert found.warnings == ("Text that Word hides was left out.",)

    def test_content_controls_are_seen_through(self) -> None:
        inner = f"<w:sdt><w:sdtContent>{paragraph('inside')}</w:sdtContent></w:sdt>"
        row = (
            "<w:sdt><w:sdtContent><w:tr><w:sdt><w:sdtContent><w:tc>"
            f"{paragraph('cell')}</w:tc></w:sdtContent></w:sdt></w:tr></w:sdtContent></w:sdt>"
        )
        assert lines(f"{inner}<w:tbl>{row}</w:tbl>") == ["inside", "cell"]

    def test_the_strict_namespace_is_the_same_language(self) -> None:
        found = lines(numbered("x"), space=STRICT_WORD, numbering=numbering(*LEGAL))
        assert found == ["1. x"]

    def test_an_embedded_file_is_warned_of(self) -> None:
        found = read(paragraph("x") + "<w:altChunk/>")
        assert found.warnings == ("The document embeds another file, which was not read.",)

    def test_too_much_text_is_refused(self) -> None:
        with pytest.raises(Refusal, match="more text than can be read"):
            read_docx(docx(paragraph("x" * 50)), Limits(characters=50))


SOUND = docx(
    numbered("one") + paragraph("two"), numbering=numbering(*LEGAL), styles="", footnotes=""
)


@settings(deadline=None)
@given(st.data())
def test_a_mutated_file_is_read_or_refused(data: st.DataObject) -> None:
    mutant = bytearray(SOUND)
    for _ in range(data.draw(st.integers(1, 6))):
        mutant[data.draw(st.integers(0, len(mutant) - 1))] = data.draw(st.integers(0, 255))
    with suppress(Refusal):
        assert read_docx(bytes(mutant), DEFAULT_LIMITS).text


NAMES = ("p", "r", "t", "tbl", "tr", "tc", "sdt", "sdtContent", "ins", "del", "footnoteReference")
ELEMENTS = st.recursive(
    st.sampled_from(["text", "", "<w:br/>", numbered("n", level=3)]),
    lambda inner: st.builds(
        lambda name, parts: f"<w:{name}>{''.join(parts)}</w:{name}>",
        st.sampled_from(NAMES),
        st.lists(inner, max_size=4),
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(ELEMENTS)
def test_any_nesting_is_read_or_refused(body: str) -> None:
    with suppress(Refusal):
        assert read(body, numbering=numbering(*LEGAL)).text
