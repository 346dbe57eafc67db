"""The articles of law that our playbook rests on.

Each was read in the version in force at `KNOWLEDGE_DATE`; `says` is the point in our own words, not
the statute's text. A law that could not be read is not cited.
"""

from dataclasses import dataclass
from datetime import date

from stagepost.tasks.contract_review.numerals import chinese_number

KNOWLEDGE_DATE = date(2026, 11, 1)

_ENGLISH = {
    "中华人民共和国民法典": "Civil Code of the PRC",
    "中华人民共和国劳动合同法": "Labour Contract Law of the PRC",
    "中华人民共和国劳动法": "Labour Law of the PRC",
    "中华人民共和国妇女权益保障法": "Law of the PRC on the Protection of Women's Rights and"
    " Interests",
    "中华人民共和国著作权法": "Copyright Law of the PRC",
    "中华人民共和国涉外民事关系法律适用法": (
        "Law of the PRC on the Application of Law in Foreign-Related Civil Relations"
    ),
}
_CIVIL, _LABOUR_CONTRACT, _LABOUR, _WOMEN, _COPYRIGHT, _FOREIGN = _ENGLISH


@dataclass(frozen=True, slots=True)
class Article:
    """One article: the law's full name, the article as the law prints it, and what it says."""

    law: str
    article: str
    says: str

    @property
    def number(self) -> int:
        """The article's number as a figure."""
        read = chinese_number(self.article.strip("第条"))
        assert read is not None
        return read

    def cited(self, language: str) -> str:
        """The citation in the report's language; it always holds the law's own name and number."""
        own = f"《{self.law}》{self.article}"
        return own if language == "zh" else f"{_ENGLISH[self.law]}, Art. {self.number} ({own})"


def _civil(article: str, says: str) -> Article:
    return Article(_CIVIL, f"第{article}条", says)


LIMITATION_FIXED = _civil(
    "一百九十七", "limitation periods are set by law; an advance waiver is void"
)
FORM_TERMS_VOID = _civil(
    "四百九十七", "standard terms that unreasonably exclude liability are void"
)
FORM_TERMS_READING = _civil("四百九十八", "a doubtful standard term is read against its author")
VOID_EXCLUSIONS = _civil("五百零六", "no exclusion for injury, intent or gross negligence")
CHANGE_BY_AGREEMENT = _civil("五百四十三", "a contract is changed by agreement of the parties")
TRANSFER_DEBT = _civil("五百五十一", "a transfer of obligations needs the creditor's consent")
TRANSFER_ALL = _civil("五百五十五", "a transfer of the whole position needs the other's consent")
AGREED_TERMINATION = _civil("五百六十二", "termination by agreement or on agreed grounds")
STATUTORY_TERMINATION = _civil("五百六十三", "the statutory grounds of termination")
TERMINATION_NOTICE = _civil("五百六十五", "termination takes a notice and takes effect on receipt")
SET_OFF = _civil("五百六十八", "set-off of matured claims of the same kind")
BREACH = _civil("五百七十七", "performance, remedy or damages on breach")
DAMAGES = _civil("五百八十四", "damages cover lost profit, up to what was foreseeable")
AGREED_DAMAGES = _civil("五百八十五", "agreed damages may be adjusted by the court")
DEPOSIT_CAP = _civil(
    "五百八十六", "an earnest deposit counts only up to 20 % of the contract value"
)
DEPOSIT_OR_DAMAGES = _civil("五百八十八", "earnest deposit or agreed damages, not both")
FORCE_MAJEURE = _civil("五百九十", "relief for force majeure, with notice and proof")
INSPECTION = _civil("六百二十一", "the buyer's time to notify defects")
INTEREST_IN_ADVANCE = _civil(
    "六百七十", "interest may not be deducted from the principal in advance"
)
USURY = _civil("六百八十", "usury is forbidden; rates must respect the state's limits")
JOINT_GUARANTEE = _civil("六百八十八", "joint and several guarantee when so agreed")
LEASE_TERM = _civil("七百零五", "a lease runs for at most twenty years")
LEASE_REPAIR = _civil("七百一十二", "the lessor repairs unless agreed otherwise")
LEASE_RENT_GRACE = _civil("七百二十二", "late rent: reasonable time to pay before termination")
LEASE_FIRST_REFUSAL = _civil("七百二十六", "the tenant's right of first refusal on a sale")
COMMISSIONED_INVENTION = _civil("八百五十九", "patent rights in a commissioned development")
IMPROVEMENTS = _civil("八百七十五", "sharing of improvements is agreed on mutual benefit")
PERSONAL_DATA = _civil("一千零三十五", "personal data: lawful, necessary, consented, transparent")
PROBATION = Article(_LABOUR_CONTRACT, "第十九条", "the longest probation by length of the contract")
LABOUR_CONFIDENTIALITY = Article(
    _LABOUR_CONTRACT, "第二十三条", "a non-compete comes with monthly compensation"
)
NON_COMPETE = Article(_LABOUR_CONTRACT, "第二十四条", "who may be bound, and at most two years")
LABOUR_PENALTY = Article(
    _LABOUR_CONTRACT, "第二十五条", "no penalty on the worker but for training and non-compete"
)
LABOUR_VOID = Article(_LABOUR_CONTRACT, "第二十六条", "exclusion of the worker's rights is void")
LABOUR_OVERTIME = Article(_LABOUR_CONTRACT, "第三十一条", "overtime is paid as the law says")
LABOUR_RESIGNATION = Article(
    _LABOUR_CONTRACT, "第三十七条", "the worker resigns with 30 days' notice"
)
LABOUR_DISMISSAL = Article(_LABOUR_CONTRACT, "第三十九条", "when the employer may end the contract")
LABOUR_DEPOSIT = Article(
    _LABOUR_CONTRACT, "第九条", "no withheld papers, no deposit from the worker"
)
SOCIAL_INSURANCE = Article(_LABOUR, "第七十二条", "employer and worker must take part in insurance")
WOMEN_WORKERS = Article(
    _WOMEN, "第四十四条", "no contract term may restrict marriage or childbirth"
)
COMMISSIONED_WORK = Article(_COPYRIGHT, "第十九条", "copyright in a commissioned work")
CHOICE_OF_LAW = Article(_FOREIGN, "第四十一条", "the parties may choose the law of the contract")
