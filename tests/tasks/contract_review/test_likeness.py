"""A file that is no contract is reviewed with a warning; every contract without one."""

import pytest

from stagepost.tasks.contract_review.likeness import NOT_A_CONTRACT
from stagepost.tasks.documents.document import Language
from tasks.contract_review.drafting import contract, draft, review

_OTHERS: dict[str, tuple[str, Language]] = {
    "a manual": (
        "# Widget\nInstall it with the package manager. You may configure the port.\n"
        "1. Run the server.\n2. Open the page. It shall answer within a second.\n" * 20,
        "en",
    ),
    "an archive": ("PK\x03\x04 word stream of letters and numbers 12 " * 60, "en"),
    "a letter": (
        "Dear Ann,\nthe party on Friday was lovely. We will pay the rent soon.\n" * 9,
        "en",
    ),
    "a statute": (
        "第一条 为保护合同当事人的权益，制定本法。本法所称当事人，应当遵守本法。\n"
        "第二条 违反本法的，应当承担赔偿责任。双方可以解除合同。本法自公布之日起生效。\n" * 9,
        "zh",
    ),
    "a recipe": ("第一步：将面粉与水混合。第二步：静置三十分钟。第三步：上锅蒸熟。\n" * 30, "zh"),
}


@pytest.mark.parametrize("kind", sorted(_OTHERS))
def test_what_is_no_contract_is_said_to_be_none(kind: str) -> None:
    text, language = _OTHERS[kind]
    report = review(draft(text, language))
    warning = NOT_A_CONTRACT(language)
    assert report.warnings[0] == warning
    assert report.summary.startswith(warning)


@pytest.mark.parametrize("name", ["software", "lease", "employment", "clean-sale"])
def test_a_contract_is_not_doubted(name: str) -> None:
    report = review(contract(name))
    assert NOT_A_CONTRACT.zh not in (*report.warnings, report.summary)


def test_a_contract_of_a_few_lines_is_not_doubted() -> None:
    text = "This is a hosting agreement between Nutmeg.com and tide systems. It lasts a year.\n"
    assert NOT_A_CONTRACT.en not in review(draft(text)).warnings
