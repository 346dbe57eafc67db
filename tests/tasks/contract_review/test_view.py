"""The text as the rules read it, and the way back."""

from hypothesis import given
from hypothesis import strategies as st

from stagepost.tasks.contract_review.view import SENTENCE_MOST, sentences, view

_TEXTS = st.text(
    st.sampled_from('ab -.;,\n\t　"“”甲方应，。；（）：１２%％第条ﬁİ\u200b'), max_size=200
)


def _found(text: str, words: str) -> str:
    """The original words under some words of the view."""
    shown = view(text)
    at = shown.lower.index(words)
    start, end = shown.span(at, at + len(words))
    return text[start:end]


def test_layout_does_not_hide_words() -> None:
    assert _found("shall not\n   be  liable", "shall not be liable") == "shall not\n   be  liable"
    assert _found("the termi-\nnation of", "the termination") == "the termi-\nnation"
    assert _found("a non-\nexclusive licence", "non-exclusive") == "non-\nexclusive"
    assert _found("a non- exclusive licence", "non-exclusive") == "non- exclusive"
    assert _found("甲方应当承担\n无限\n责任", "承担无限责任") == "承担\n无限\n责任"
    assert _found("违约金为２０％", "20%") == "２０％"
    assert _found("“Supplier” may", '"supplier"') == "“Supplier”"


def test_letters_that_grow_when_lowered_keep_their_place() -> None:
    text = "İstanbul İnc. may terminate"
    assert _found(text, "terminate") == "terminate"


def test_sentences_end_where_a_reader_ends_them() -> None:
    shown = view(
        "1.2 Acme Inc. may leave. It pays $1.50 now.\n\nNext one; with a part."
        " 甲方应付款。乙方应交货。"
    )
    assert [shown.cased[slice(*span)] for span in sentences(shown)] == [
        "1.2 Acme Inc. may leave.",
        "It pays $1.50 now.",
        "Next one; with a part. 甲方应付款。",
        "乙方应交货。",
    ]


def test_a_numbered_line_begins_a_sentence_but_a_reference_does_not() -> None:
    shown = view("第一条 价款\n1.1 甲方按照第九条付款\n1.2 乙方开票")
    assert [shown.cased[slice(*span)] for span in sentences(shown)] == [
        "第一条价款",
        "1.1 甲方按照第九条付款",
        "1.2 乙方开票",
    ]


def test_no_sentence_is_longer_than_the_bound() -> None:
    shown = view("word " * 5_000)
    assert max(end - start for start, end in sentences(shown)) <= SENTENCE_MOST


@given(_TEXTS)
def test_every_sentence_leads_back_to_its_place(text: str) -> None:
    shown = view(text)
    assert len(shown.cased) == len(shown.lower) == len(shown.offsets) - 1
    last = 0
    for begin, stop in sentences(shown):
        start, end = shown.span(begin, stop)
        assert last <= start < end <= len(text)
        assert view(text[start:end]).lower == shown.lower[begin:stop]
        last = end
