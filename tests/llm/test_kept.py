"""Requests and answers as the ledger keeps them."""

from hypothesis import given
from hypothesis import strategies as st

from stagepost.llm.kept import kept_answer, kept_request, read_answer, whole_text
from stagepost.llm.provider import (
    Answer,
    ChatRequest,
    Embeddings,
    Finish,
    Heard,
    Message,
    Role,
    ToolCall,
    Usage,
)

texts = st.text(st.characters(exclude_categories=[]), max_size=20)
counts = st.none() | st.integers(0, 2**40)
answers = st.builds(
    Answer,
    texts,
    st.sampled_from(Finish),
    st.lists(st.builds(ToolCall, st.text(max_size=5), texts, texts), max_size=2).map(tuple),
    st.builds(Usage, counts, counts, counts, counts),
    st.builds(Heard, st.text(max_size=5), st.text(max_size=5)),
)


@given(answers)
def test_what_comes_back_is_what_the_handler_got(answer: Answer) -> None:
    got = whole_text(answer)
    assert read_answer(kept_answer(got)) == got


def test_a_whole_text_stays_as_it_is_and_half_a_character_is_none() -> None:
    answer = Answer("Ten \N{EURO SIGN}", Finish.STOP)
    assert whole_text(answer) == answer
    assert whole_text(Answer("half \ud83d", Finish.STOP)) == Answer("half ?", Finish.STOP)


def test_vectors_come_back_as_they_went() -> None:
    vectors = Embeddings(((0.1, -2.5e-8), (1.0, 3.0)), Usage(7))
    assert read_answer(kept_answer(vectors)) == vectors


def test_a_request_is_kept_without_what_it_does_not_say() -> None:
    request = ChatRequest("best", (Message(Role.USER, "Hello"),))
    assert kept_request(request) == (
        '{"model":"best","messages":[{"role":"user","content":"Hello"}]}'
    )
