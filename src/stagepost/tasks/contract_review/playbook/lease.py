"""Rules for leases."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import longer_than
from stagepost.tasks.contract_review.report import ContractType
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_LEASE: tuple[ContractType, ...] = ("lease",)

RULES = (
    Rule(
        id="lease-over-twenty-years",
        category="Expiration Date",
        severity="HIGH",
        harms="payer",
        types=_LEASE,
        prc_only=True,
        zh=(r"(?:租赁期限?|租期|承租期限?|租赁期间) … 年",),
        unless_zh=(r"不得超过|不超过", r"续租"),
        judge=longer_than(20 * 365, "HIGH"),
        risk=Wording(
            "The lease is agreed for more than twenty years; the excess is void.",
            "租赁期限超过二十年，超过部分无效。",
        ),
        suggestion=Wording(
            "Agree on twenty years at most, with a right to negotiate a renewal.",
            "缩短至二十年以内，并约定期满续订的协商机制。",
        ),
        law=law.LEASE_TERM,
        confidence=0.9,
        negotiability="HIGH",
    ),
    Rule(
        id="lease-repair-tenant",
        category="Lease",
        severity="MEDIUM",
        harms="payer",
        types=_LEASE,
        en=(
            r"(?:tenant|lessee) (?:shall|will|must|agrees? to) … (?:repair|maintain)\w{0,3} … (?:roof|structur|foundation|entire|all (?:parts|repairs))",
        ),
        unless_en=(r"not be (?:responsible|required)|except|landlord",),
        zh=(
            r"(?:一切|全部|所有|任何) …8 (?:维修|修缮|修理) …10 (?:由|均由|归)(?:乙方|承租(?:方|人))",
            r"(?:乙方|承租(?:方|人))(?:应|须|负责|承担) …8 (?:一切|全部|所有) …10 (?:维修|修缮|修理)",
            r"(?:甲方|出租(?:方|人))(?:不(?:承担|负责|负)|概不) …12 (?:维修|修缮)",
        ),
        risk=Wording(
            "All repairs, even of the building itself, fall on the tenant.",
            "将包括房屋主体在内的全部维修义务转嫁给承租人。",
        ),
        suggestion=Wording(
            "Leave structure and installations with the landlord; the tenant repairs what it damaged.",
            "主体结构及设施由出租人维修，承租人仅修复自身造成的损坏。",
        ),
        law=law.LEASE_REPAIR,
    ),
    Rule(
        id="lease-entry-any-time",
        covers=("audit-unlimited",),
        category="Lease",
        severity="MEDIUM",
        harms="payer",
        types=_LEASE,
        en=(
            r"(?:landlord|lessor) … enter … (?:at any time|without (?:prior )?notice|at all times)",
        ),
        unless_en=(r"emergency|reasonable (?:prior )?notice|24 hours",),
        zh=(r"(?:甲方|出租(?:方|人))(?:有权|可以?|可) …4 随时 …8 (?:进入|检查|查看|出入)",),
        unless_zh=(r"提前|紧急",),
        risk=Wording(
            "The landlord may enter at any time without notice.",
            "出租人可随时进入租赁房屋，影响正常使用。",
        ),
        suggestion=Wording(
            "Require 24-48 hours' notice except in an emergency.",
            "约定提前24至48小时通知，紧急情况除外。",
        ),
    ),
    Rule(
        id="lease-cut-off",
        category="Lease",
        severity="HIGH",
        harms="payer",
        types=_LEASE,
        en=(
            r"(?:landlord|lessor) may … (?:lock|change the locks|remove|cut off|disconnect|seize|dispose) … without",
        ),
        zh=(
            r"(?:甲方|出租(?:方|人))(?:有权|可以?|可) …16 (?:停水|停电|断水|断电|换锁|锁门|清场|处置|清理)",
            r"(?:遗留|留置|未搬离) …10 (?:物品|财物) …10 (?:视为放弃|归甲方|任意处置|任由)",
        ),
        unless_zh=(r"依法|法院|维修|检修|公证",),
        risk=Wording(
            "The landlord may help itself by cutting supplies, changing locks or disposing of goods.",
            "出租人可自行断水断电、换锁或处置财物，属自力救济，风险高。",
        ),
        suggestion=Wording(
            "Delete it; arrears give a right to terminate and to claim, after a notice period.",
            "删除，改为经催告及合理期限后依法解除并主张权利。",
        ),
        law=law.LEASE_RENT_GRACE,
    ),
    Rule(
        id="lease-first-refusal-waived",
        covers=("rights-waived", "right-of-first-refusal"),
        category="Rofr/Rofo/Rofn",
        severity="LOW",
        harms="payer",
        types=_LEASE,
        prc_only=True,
        zh=(r"放弃 …10 优先(?:购买|承租|续租)权", r"不享有 …8 优先(?:购买|承租|续租)权"),
        risk=Wording(
            "The tenant gives up its statutory right of first refusal.",
            "承租人放弃法定优先购买权。",
        ),
        suggestion=Wording(
            "Keep the right, or obtain something in exchange.",
            "保留该权利，或争取相应对价。",
        ),
        law=law.LEASE_FIRST_REFUSAL,
        confidence=0.85,
    ),
    Rule(
        id="lease-improvements-lost",
        category="Lease",
        severity="LOW",
        harms="payer",
        types=_LEASE,
        en=(
            r"(?:improvements|alterations|fixtures) … (?:become|remain|be) (?:the )?property of (?:the )?(?:landlord|lessor)",
        ),
        zh=(r"(?:装修|装饰|添附|改造) …16 (?:无偿归|归甲方|归出租|不予补偿|不补偿)",),
        risk=Wording(
            "What the tenant builds in goes to the landlord without compensation.",
            "装修添附无偿归出租人所有，承租人投入无补偿。",
        ),
        suggestion=Wording(
            "Agree on a residual value when the lease ends early without the tenant's fault.",
            "约定非因承租人原因提前终止时按残值补偿。",
        ),
    ),
)
