"""What leases, employment contracts, loans, guarantees and NDAs should regulate besides."""

from stagepost.tasks.contract_review.checklist import Topic
from stagepost.tasks.contract_review.wording import Wording

TOPICS = (
    Topic(
        category="Lease Term",
        severity="MEDIUM",
        types=("lease",),
        en=r"\bterm\b|commenc|expir",
        zh=r"租赁期|租期|期限|年.{0,6}月.{0,6}日",
        why=Wording(
            "The term of the lease is open.", "未约定租赁期限，视为不定期租赁，对方可随时解除。"
        ),
    ),
    Topic(
        category="Deposit",
        severity="LOW",
        types=("lease",),
        en=r"deposit|security",
        zh=r"押金|保证金",
        why=Wording(
            "No deposit, and no rule for its return, is agreed.",
            "未约定押金及退还条件。",
        ),
    ),
    Topic(
        category="Maintenance",
        severity="LOW",
        types=("lease",),
        en=r"repair|maint(?:ain|enance)",
        zh=r"维修|修缮|维护",
        why=Wording("Who repairs what is open.", "未约定维修责任。"),
    ),
    Topic(
        category="Social Insurance",
        severity="HIGH",
        types=("employment",),
        if_en=r"(?!)",
        en=r"insurance|benefits",
        zh=r"社会保险|社保|五险",
        why=Wording(
            "Social insurance, a mandatory term of an employment contract, is missing.",
            "缺少社会保险条款，属于劳动合同必备条款。",
        ),
    ),
    Topic(
        category="Remuneration",
        severity="HIGH",
        types=("employment",),
        en=r"salary|compensation|wages?|remuneration|base pay",
        zh=r"工资|劳动报酬|薪酬|薪资|报酬",
        why=Wording("Pay is not agreed.", "缺少劳动报酬条款，属于劳动合同必备条款。"),
    ),
    Topic(
        category="Working Hours",
        severity="MEDIUM",
        types=("employment",),
        if_en=r"(?!)",
        en=r"hours|full[- ]time|vacation",
        zh=r"工作时间|工时|休息|休假",
        why=Wording(
            "Working time and rest, mandatory terms, are missing.",
            "缺少工作时间和休息休假条款，属于劳动合同必备条款。",
        ),
    ),
    Topic(
        category="Duties And Place",
        severity="MEDIUM",
        types=("employment",),
        en=r"duties|position|title|responsibilit|services",
        zh=r"工作内容|岗位|工作地点|职务",
        why=Wording("Post, duties or place of work are open.", "缺少工作内容或工作地点条款。"),
    ),
    Topic(
        category="Interest",
        severity="MEDIUM",
        types=("loan",),
        en=r"interest",
        zh=r"利息|利率|无息",
        why=Wording("Interest is not agreed; none may be owed.", "未约定利息，视为没有利息。"),
    ),
    Topic(
        category="Repayment",
        severity="HIGH",
        types=("loan",),
        en=r"repay|maturity|due date|instal+ment",
        zh=r"还款|偿还|归还|返还",
        why=Wording("When and how the loan is repaid is open.", "未约定还款期限与方式。"),
    ),
    Topic(
        category="Guarantee Period",
        severity="MEDIUM",
        types=("guarantee",),
        en=r"term|period|until|expir",
        zh=r"保证期间|保证期限|担保期",
        why=Wording(
            "No period of the guarantee is agreed; the statutory six months apply.",
            "未约定保证期间，依法为主债务履行期届满之日起六个月。",
        ),
    ),
    Topic(
        category="Purpose",
        severity="MEDIUM",
        types=("nda",),
        en=r"purpose|solely|only for|in connection with",
        zh=r"目的|仅(?:限|用)于|为履行",
        why=Wording(
            "The permitted use of the secrets is not limited to a purpose.",
            "未限定保密信息的使用目的。",
        ),
    ),
    Topic(
        category="Exceptions To Secrecy",
        severity="MEDIUM",
        types=("nda",),
        en=r"public(?:ly)? (?:known|available|domain)|already known|independently|required by law|exceptions?|shall not apply|does not include",
        zh=r"公知|公开|已知|独立开发|法律.{0,8}要求|例外|除外|不(?:包括|适用)",
        why=Wording(
            "The usual exceptions (public, known before, developed independently, required by law) are missing.",
            "缺少保密例外（已公开、事先已知、独立开发、依法披露）。",
        ),
    ),
    Topic(
        category="Duration Of Secrecy",
        severity="LOW",
        types=("nda",),
        en=r"(?:year|month|term|period|surviv|indefinite|perpet)",
        zh=r"期限|年内|年止|永久|届满|终止后",
        why=Wording("How long secrecy lasts is open.", "未约定保密期限。"),
    ),
)
