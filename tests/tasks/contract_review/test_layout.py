"""What the report shows of the text: sentences joined, pages' own lines gone, nothing else lost."""

from itertools import pairwise

from stagepost.tasks.contract_review.layout import layout
from stagepost.tasks.documents.document import Document, Page
from tasks.contract_review.drafting import draft


def paged(*pages: str) -> Document:
    """A document with a newline between its pages."""
    text = "\n".join(pages)
    starts = [0]
    for page in pages:
        starts.append(starts[-1] + len(page) + 1)
    starts[-1] = len(text)
    bounds = enumerate(pairwise(starts), start=1)
    made = tuple(Page(number=number, start=start, end=end) for number, (start, end) in bounds)
    return draft(text)[0].model_copy(update={"pages": made})


def shown(document: Document) -> str:
    return layout(document).shown(0, len(document.text))


def test_a_sentence_is_whole_across_a_page_number() -> None:
    document = paged(
        "1. The mill delivers what has been\nordered to the\n2",
        "place that the buyer names.\n2. The buyer pays\n- 3 -",
        "in thirty days.\n(a) by cheque;\n(b) by wire.\n4",
    )
    assert shown(document) == (
        "1. The mill delivers what has been ordered to the place that the buyer names.\n"
        "2. The buyer pays in thirty days.\n(a) by cheque;\n(b) by wire.\n"
    )


def test_running_lines_are_left_out_but_not_what_stands_once() -> None:
    pages = [
        f"Mill Agreement - Confidential\nWords of page {number} stand here.\nMore of them.\n"
        f"And more.\nSource: MILL INC, 8-K, page {number}"
        for number in ("one", "two", "three")
    ]
    pages[1] = pages[1].replace("And more.", "Signed in May.")
    words = shown(paged(*pages))
    assert "Confidential" not in words
    assert all(f"Words of page {number}" in words for number in ("one", "two", "three"))
    assert "Signed in May." in words


def test_a_number_in_the_text_is_no_page_number() -> None:
    text = "The price is\n12\nfor a year.\n"
    assert "12" in shown(draft(text)[0])
    assert "12" in shown(paged("A\nB\nC\nThe price is\n12\nfor a year.\nD\nE\nF", "Ends."))


def test_a_part_of_the_text_is_shown_as_in_the_whole() -> None:
    document = paged("1. The mill delivers\nin May to the\n1", "place named.\n2. It ends.")
    arranged = layout(document)
    whole = arranged.shown(0, len(document.text))
    for cut in range(len(document.text) + 1):
        parts = arranged.shown(0, cut) + arranged.shown(cut, len(document.text))
        assert parts == whole, cut


def test_page_numbers_of_an_older_layout_are_left_out_and_rows_of_a_table_are_not() -> None:
    page = "The mill grinds for the buyer and the buyer pays.\n" * 20
    words = shown(draft("".join(f"{page} {number}\n" for number in range(7, 12)))[0])
    assert not any(character.isdigit() for character in words)
    table = "".join(f"{number}\nA bag of flour\n" for number in range(1, 9))
    assert shown(draft(table)[0]).count("A bag") == sum(map(str.isdigit, shown(draft(table)[0])))


def test_a_definition_begins_a_line_though_no_full_stop_ends_the_one_before() -> None:
    text = 'the "Site" means the land of the\nmill\nthe "Works" means the grinding of all\nwheat\n'
    assert shown(draft(text)[0]) == (
        'the "Site" means the land of the mill\nthe "Works" means the grinding of all wheat\n'
    )
