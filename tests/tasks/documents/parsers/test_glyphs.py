from stagepost.tasks.documents.parsers.glyphs import plain, unhyphenated
from stagepost.tasks.documents.parsers.pagelist import pages_as_words


def test_controls_go_and_line_ends_are_newlines() -> None:
    assert plain("a\r\nb\rc\fd\0\x07e\tf\x1f\u200b\ufeff") == "a\nb\nc\nde\tf"


def test_a_word_broken_at_a_line_end_is_whole_if_it_is_known() -> None:
    texts = ["This agree\x02ment is non\x02exclusive.", "The agreement of TPH\x02A binds. Post\x02"]
    assert unhyphenated(texts) == [
        "This agreement is non-exclusive.",
        "The agreement of TPH-A binds. Post-",
    ]


def test_page_numbers_read_as_a_sentence() -> None:
    assert pages_as_words([3]) == "Page 3 has"
    assert pages_as_words([4, 5, 6]) == "Pages 4-6 have"
    assert pages_as_words([1, 4, 5, 9]) == "Pages 1, 4-5 and 9 have"
    assert pages_as_words(list(range(1, 61, 2))).endswith("21, 23 and 18 more have")
