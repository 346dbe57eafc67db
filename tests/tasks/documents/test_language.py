import pytest

from stagepost.tasks.documents.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The tenant pays the rent.", "en"),
        ("承租人支付租金。", "zh"),
        ("", "en"),
        ("12345", "en"),
        ("Lease of the premises at 上海", "en"),
        ("第一条 租金 Article 1 Rent\n承租人每月支付租金。The tenant pays the rent monthly.", "zh"),
    ],
)
def test_by_the_share_of_chinese_characters(text: str, language: str) -> None:
    assert language_of(text) == language
