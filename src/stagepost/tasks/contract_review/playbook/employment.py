"""Rules for employment contracts under the law of the PRC, with general ones where they fit."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import (
    by_length,
    longer_than,
    longest_said,
)
from stagepost.tasks.contract_review.report import ContractType
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_EMPLOYMENT: tuple[ContractType, ...] = ("employment",)

RULES = (
    Rule(
        id="labour-penalty",
        covers=("termination-fee", "penalty-high"),
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(
            r"(?:乙方|劳动者|员工|辞职|离职|提前解除|服务不满|旷工) …40 (?:支付|承担|赔偿|缴纳) …16 (?:违约金|赔偿金|罚款|个月工资)",
            r"(?:罚款|扣发|扣除) …12 (?:工资|元)",
        ),
        unless_zh=(
            r"(?<!向)甲方(?:应|须|支付)|用人单位应",
            r"竞业|培训|服务期|保密",
            r"经济补偿|个人所得税|代扣",
        ),
        risk=Wording(
            "The worker owes a penalty in a case where the law allows none.",
            "对劳动者约定违约金或罚款，除培训服务期和竞业限制外依法无效。",
        ),
        suggestion=Wording(
            "Delete it; keep only the cases of paid training and non-compete.",
            "删除该约定，仅保留专项培训服务期和竞业限制两种情形。",
        ),
        law=law.LABOUR_PENALTY,
        negotiability="HIGH",
    ),
    Rule(
        id="labour-insurance-waived",
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=("employment", "services", "other"),
        prc_only=True,
        zh=(
            r"(?:自愿|同意|承诺|申请) …12 (?:放弃|不(?:予)?(?:缴纳|参加|办理|购买)) …12 (?:社会保险|社保|五险|养老保险|公积金)",
            r"(?:不|不予|不再|无需|无须)(?:为乙方|为劳动者|另行|为其)?(?:缴纳|办理|购买|参加)(?:任何)?(?:社会保险|社保|五险)",
            r"(?:社会保险|社保|五险一金)(?:费)? …10 (?:折算|折现|以现金|由乙方自行(?:缴纳|承担)|包含在工资|已包含)",
        ),
        risk=Wording(
            "Social insurance is waived; the waiver is void and the employer stays liable.",
            "约定不缴纳社会保险，该约定无效，用人单位仍须补缴并承担责任。",
        ),
        suggestion=Wording(
            "Delete it and insure as the law demands.",
            "删除该约定，依法参加社会保险。",
        ),
        law=law.SOCIAL_INSURANCE,
        confidence=0.9,
        negotiability="HIGH",
    ),
    Rule(
        id="labour-injury-own-risk",
        covers=("exclusion-void", "liability-none"),
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=("employment", "services", "construction"),
        prc_only=True,
        zh=(
            r"(?:工伤|伤亡|意外|疾病|人身安全|安全事故|伤残) …16 (?:自负|自行承担|自行负责|由乙方(?:自行)?承担|由劳动者承担|与甲方无关|与公司无关)",
        ),
        unless_zh=(r"乙方(?:原因|过错|违反|人员)", r"保险"),
        risk=Wording(
            "Injury at work is put at the worker's own risk; such a term is void.",
            "约定工伤或伤亡由劳动者自负，该约定无效。",
        ),
        suggestion=Wording(
            "Delete it; work injury is insured and borne as the law says.",
            "删除该约定，依法参加工伤保险并承担责任。",
        ),
        law=law.LABOUR_VOID,
        negotiability="HIGH",
    ),
    Rule(
        id="labour-resignation-barred",
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(
            r"(?:乙方|劳动者|员工) …20 (?:不得|无权) …6 (?:辞职|离职|解除(?:本|劳动)?合同)",
            r"提前(?:六十|60|九十|90|四十五|45|[两二三四六2346]个?月|半年) …24 (?:辞职|离职|解除)",
            r"(?:辞职|离职) …30 经(?:甲方|公司|用人单位)(?:批准|同意)",
            r"(?:辞职|离职) …10 提前(?:六十|60|九十|90|四十五|45|[两二三四六2346]个?月|半年)",
        ),
        unless_zh=(r"甲方(?:应)?提前",),
        risk=Wording(
            "The worker's right to resign with 30 days' notice is barred or made harder.",
            "限制或加重劳动者辞职条件，违反提前三十日通知即可解除的规定。",
        ),
        suggestion=Wording(
            "Return to 30 days' written notice (three days in probation).",
            "改为提前三十日书面通知（试用期提前三日）。",
        ),
        law=law.LABOUR_RESIGNATION,
    ),
    Rule(
        id="labour-dismissal-free",
        covers=("termination-immediate", "termination-convenience-one-sided"),
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(
            r"(?:甲方|用人单位|公司)(?:有权|可以?) …12 (?:随时|无条件|单方|立即|任意) …8 (?:解除|辞退|解聘|终止|开除)",
            r"(?:解除|辞退|解聘|开除) …20 (?:不支付|无需支付|无须支付|不给予) …8 (?:经济补偿|补偿金|赔偿)",
            r"末位淘汰",
        ),
        unless_zh=(r"情形之一|严重违反|试用期", r"法律规定|依法"),
        risk=Wording(
            "The employer may dismiss at will or without compensation, which the law does not allow.",
            "用人单位可随意解除或不付补偿，违反法定解除条件。",
        ),
        suggestion=Wording(
            "Refer to the statutory grounds, notice and compensation.",
            "改为按法定情形、程序解除并依法支付补偿。",
        ),
        law=law.LABOUR_DISMISSAL,
    ),
    Rule(
        id="labour-overtime-unpaid",
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(
            r"(?:不|无需|无须|不再|不另)(?:另行|额外)?(?:支付|发放|计算) …6 (?:加班费|加班工资|加班)",
            r"加班(?:费|工资)? …10 (?:已包含|包含在|视为自愿|不计)",
            r"(?:自愿|同意)放弃 …6 (?:加班费|带薪年休假|年休假|休息)",
        ),
        risk=Wording(
            "Overtime is not paid or is deemed included.",
            "约定不支付加班费或已包含在工资中，违反法律规定。",
        ),
        suggestion=Wording(
            "Pay overtime as the law says.",
            "依法另行支付加班费。",
        ),
        law=law.LABOUR_OVERTIME,
    ),
    Rule(
        id="labour-deposit",
        covers=("forfeiture",),
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(
            r"(?:乙方|劳动者|员工|入职) …16 (?:缴纳|交纳|支付|提供) …10 (?:押金|保证金|风险金|服装费|担保)",
            r"(?:扣押|保管|收取|上交) …8 (?:身份证|毕业证|学历证|证件|资格证)",
        ),
        unless_zh=(r"不得|社会保险|甲方(?:为|支付)",),
        risk=Wording(
            "The worker must leave a deposit or papers with the employer.",
            "收取押金、保证金或扣押证件，违反法律规定。",
        ),
        suggestion=Wording("Delete it.", "删除该约定。"),
        law=law.LABOUR_DEPOSIT,
        negotiability="HIGH",
    ),
    Rule(
        id="labour-marriage-restricted",
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(r"(?:不得|不能|禁止|不准|推迟) …6 (?:结婚|怀孕|生育|恋爱|婚育)",),
        unless_zh=(r"甲方不得|用人单位不得|因\S{0,6}(?:结婚|怀孕|生育)",),
        risk=Wording(
            "The contract restricts marriage or childbirth; such a term is void.",
            "限制结婚、生育的约定违法无效。",
        ),
        suggestion=Wording("Delete it.", "删除该约定。"),
        law=law.WOMEN_WORKERS,
        confidence=0.9,
        negotiability="HIGH",
    ),
    Rule(
        id="probation-long",
        category="Employment",
        severity="HIGH",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(r"试用期 … (?:个月|月|年|日|天)",),
        unless_zh=(r"工资|提前|解除|不得超过",),
        judge=longer_than(184, "HIGH"),
        risk=Wording(
            "Probation is longer than six months, the most the law allows for any contract.",
            "试用期超过六个月的法定最长期限。",
        ),
        suggestion=Wording(
            "Shorten it to the statutory maximum for the length of the contract.",
            "按合同期限缩短至法定上限。",
        ),
        law=law.PROBATION,
        confidence=0.85,
        negotiability="HIGH",
    ),
    Rule(
        id="non-compete-unpaid",
        category="Non-Compete",
        severity="HIGH",
        harms="subject",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(
            r"竞业(?:限制|禁止) … (?:不(?:再)?(?:另行)?支付|无需支付|无须支付|不享有|已包含在|包含在)",
            r"(?:补偿|补偿金|经济补偿) … (?:已(?:经)?包含|包含)在 …12 (?:工资|薪酬|报酬)",
        ),
        risk=Wording(
            "A non-compete without monthly compensation after the end of employment cannot bind the worker.",
            "竞业限制未约定离职后按月给予经济补偿，对劳动者显失公平且难以执行。",
        ),
        suggestion=Wording(
            "Agree on monthly compensation during the whole restriction.",
            "约定竞业限制期内按月支付经济补偿。",
        ),
        law=law.LABOUR_CONFIDENTIALITY,
        confidence=0.8,
    ),
    Rule(
        id="labour-non-compete",
        category="Non-Compete",
        severity="LOW",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        covers=("non-compete",),
        zh=(r"竞业(?:限制|禁止)", r"不得 … (?:任职|从事|经营) … (?:竞争|同类)"),
        unless_zh=(r"不(?:负有|承担|受)竞业", r"不适用"),
        judge=by_length(((731, "HIGH"),), "LOW", longest_said),
        risk=Wording(
            "The worker may not work for a competitor after leaving; more than two years is not allowed.",
            "竞业限制约束劳动者离职后的就业，期限不得超过二年，且仅限负有保密义务的人员。",
        ),
        suggestion=Wording(
            "Limit it to two years, named competitors and a region, with monthly compensation.",
            "限定不超过二年、明确竞争对手与地域，并按月支付补偿。",
        ),
        law=law.NON_COMPETE,
    ),
    Rule(
        id="work-place-changeable",
        covers=("unilateral-change",),
        category="Employment",
        severity="MEDIUM",
        harms="supplier",
        types=_EMPLOYMENT,
        prc_only=True,
        zh=(
            r"(?:甲方|公司|用人单位)(?:有权|可以?|可) …24 (?:调整|变更|调动|安排) …16 (?:工作岗位|岗位|工作地点|职务|薪酬|工资|劳动报酬)",
            r"(?:工作地点|岗位) …10 (?:全国|任意|不固定|服从\S{0,6}安排)",
        ),
        unless_zh=(r"协商一致|双方协商|经乙方(?:书面)?同意",),
        risk=Wording(
            "The employer may change post, place or pay alone.",
            "用人单位可单方调整岗位、地点或薪酬。",
        ),
        suggestion=Wording(
            "Require agreement in writing, with the statutory exceptions.",
            "改为经双方书面协商一致变更，法定情形除外。",
        ),
        law=law.CHANGE_BY_AGREEMENT,
    ),
)
