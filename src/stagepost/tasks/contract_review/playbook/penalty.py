"""Rules on interest, damages fixed in advance, deposits and loans."""

import re

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import (
    by_share,
    interest,
)
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_SEVERE = re.compile(
    r"deposit|forfeit|all (?:\w{3,12} ){0,2}(?:fees|amounts|payments|sums)|prepaid|advance"
)
_NEGATED = r"(?:either|each) party|(?:shall|will) not (?:be )?(?:liable|pay)"

RULES = (
    Rule(
        id="late-interest-high",
        category="Payment",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"(?:interest|late (?:fee|charge|payment)|finance charge|overdue|past due) … (?:%|percent|per cent)",
        ),
        unless_en=(r"discount|royalt|membership|ownership|equity|minority",),
        zh=(r"(?:逾期|迟延|延迟|延期|滞纳金|拖欠) … (?:%|‰|百分之|千分之|万分之)",),
        unless_zh=(r"交付|交货|工期|竣工",),
        judge=interest(high=180.0, medium=20.0),
        risk=Wording(
            "The charge for late payment is far above what a loan costs.",
            "逾期付款违约金或利息明显偏高，远超资金成本。",
        ),
        suggestion=Wording(
            "Reduce it to a usual rate (a few points above the base rate) with a total cap.",
            "降至合理水平（如日万分之五以内）并设累计上限。",
        ),
        law=law.AGREED_DAMAGES,
        reach=60,
    ),
    Rule(
        id="delay-damages-high",
        covers=("liquidated-damages",),
        category="Liquidated Damages",
        severity="MEDIUM",
        harms="supplier",
        en=(
            r"(?:delay|late delivery|each day|per day)\w{0,3} … (?:liquidated|damages|penalt|deduct|credit) … (?:%|percent)",
            r"(?:liquidated damages|penalt\w{1,4}) … (?:%|percent) … (?:per day|each day|for each day|daily)",
        ),
        zh=(
            r"(?:逾期|迟延|延迟|延期)(?:交付|交货|完工|竣工|完成|供货|发货|提供) … (?:%|‰|百分之|千分之|万分之)",
        ),
        judge=interest(high=365.0, medium=150.0),
        risk=Wording(
            "Damages for delay grow so fast that they soon eat up the price.",
            "迟延交付违约金累积过快，短期内即可吞噬合同价款。",
        ),
        suggestion=Wording(
            "Agree on at most 0.05-0.1 % a day and 5-10 % in all, as the sole remedy for delay.",
            "约定日万分之五至千分之一、累计不超过合同价款5%至10%，并作为迟延的唯一救济。",
        ),
        law=law.AGREED_DAMAGES,
        reach=60,
    ),
    Rule(
        id="penalty-high",
        covers=("liquidated-damages",),
        category="Liquidated Damages",
        severity="HIGH",
        harms="subject",
        en=(
            r"(?:liquidated damages|penalt(?:y|ies)|compensat\w{2,4}) … (?:%|percent) of (?:the )?(?:total|contract|purchase|aggregate|fees|annual|price|value)",
            r"(?:liquidated damages|penalt(?:y|ies)) … (?:twice|double|triple|three times|two times|treble|\dx)",
        ),
        unless_en=(r"premium|insurance|tax", _NEGATED),
        zh=(
            r"(?:违约金|罚款|罚金|赔偿金|赔偿) … (?:%|百分之)",
            r"(?:%|百分之[一-十百]{1,4})(?:的|作为|向|支付|计算|给[甲乙]方)?(?:金额|标准)?(?:的|作为)?(?:违约金|罚款|赔偿金)",
            r"(?:违约金|罚款|赔偿金|赔偿) … (?:[二两三四五六七八九十2-9]|10|1\.5)倍",
            r"(?:[二两三四五六七八九十2-9]|10)倍(?:的|作为|向|支付)?(?:违约金|罚款|赔偿)",
        ),
        unless_zh=(
            r"不超过|不得超过|为限|上限|最高",
            r"每日|每天|按日|每逾期",
            r"双倍返还定金|定金",
        ),
        judge=lambda hit: (
            "HIGH"
            if any(
                word in hit.words for word in ("倍", "twice", "double", "triple", "times", "treble")
            )
            else by_share(((50, "HIGH"), (25, "MEDIUM")))(hit)
        ),
        risk=Wording(
            "The agreed damages are out of proportion to any likely loss.",
            "违约金比例过高，明显超过可能造成的损失，存在被调减的争议。",
        ),
        suggestion=Wording(
            "Reduce it to a genuine estimate of the loss, with a cap of 10-20 % of the price.",
            "降至与实际损失相当的水平，并设合同价款10%至20%的上限。",
        ),
        law=law.AGREED_DAMAGES,
        confidence=0.8,
    ),
    Rule(
        id="liquidated-damages",
        category="Liquidated Damages",
        severity="LOW",
        harms="subject",
        en=(r"(?:as|be|constitute|in|pay) … liquidated damages(?: and not as (?:a )?penalty)?",),
        unless_en=(r"not (?:as|constitute|be)", r"neither party"),
        risk=Wording(
            "A fixed sum is owed on breach, whatever the loss really was.",
            "违约时须支付固定金额，不论实际损失大小。",
        ),
        suggestion=Wording(
            "Check that the sum is a fair estimate, make it the sole remedy and cap it.",
            "核实金额是否为合理预估，并约定为唯一救济且设上限。",
        ),
        law=law.AGREED_DAMAGES,
        confidence=0.6,
    ),
    Rule(
        id="deposit-over-cap",
        category="Deposit",
        severity="HIGH",
        harms="payer",
        prc_only=True,
        zh=(
            r"定金 … (?:%|百分之)",
            r"(?:%|百分之[一-十百]{1,4})(?:的|作为|即)?(?:款项|金额)?(?:作为)?定金",
        ),
        unless_zh=(r"不超过|不得超过", r"预付款"),
        judge=by_share(((20.000001, "HIGH"),)),
        risk=Wording(
            "The earnest deposit is above 20 % of the contract value; the excess has no effect as a deposit.",
            "定金超过主合同标的额的20%，超过部分不产生定金效力。",
        ),
        suggestion=Wording(
            "Reduce the deposit to at most 20 % and call the rest an advance payment.",
            "将定金降至20%以内，其余约定为预付款。",
        ),
        law=law.DEPOSIT_CAP,
        confidence=0.9,
        negotiability="HIGH",
    ),
    Rule(
        id="forfeiture",
        category="Deposit",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"forfeits? (?:\w{2,14} ){0,6}(?:deposit|payment|fees?|amounts?|sums?|advance)",
            r"(?:deposit|advance|prepaid|prepayment|fees?|payments?|amounts? paid) … (?:shall be|is|are|being|will be) (?:forfeit|non-?refundable|retained by)",
            r"non-?refundable … (?:deposit|fee|payment|retainer|advance|sum)",
        ),
        unless_en=(r"not (?:be )?(?:forfeit|retained)", r"membership|stock|shares|option"),
        judge=lambda hit: (
            "LOW" if "refundable" in hit.words and not _SEVERE.search(hit.words) else "MEDIUM"
        ),
        zh=(
            r"(?:押金|保证金|履约金|预付款|已付(?:款|费用|租金)|已支付(?:的)?(?:款项|费用)|已收(?:款|费用)|租金|服务费|费用|加盟费|款项|学费) … (?:不予退还|概不退还|不退还|不予返还|不退|归[甲乙]方所有|没收)",
            r"(?:有权)?(?:没收|不予退还|不退还|扣留)(?:全部|[甲乙]方)?(?:的)?(?:全部)?(?:押金|保证金|预付款|已付|已收|剩余)",
        ),
        unless_zh=(r"定金",),
        risk=Wording(
            "Money already paid is lost when the contract ends, whatever was delivered for it.",
            "已付款项或押金在任何情形下均不退还，与实际履行不对等。",
        ),
        suggestion=Wording(
            "Refund what was not earned; allow retention only up to proven loss.",
            "约定未履行部分应予退还，仅可在实际损失范围内扣除。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
    Rule(
        id="deposit-and-damages",
        category="Deposit",
        severity="LOW",
        harms="payer",
        prc_only=True,
        zh=(
            r"定金 … (?:同时|并|且|另行|还应|以及)(?:应|须)?(?:支付|承担|主张)? …8 违约金",
            r"违约金 … (?:同时|并|且|另|还) …6 (?:没收|不退还|双倍返还) …4 定金",
        ),
        unless_zh=(r"选择|或者",),
        risk=Wording(
            "Deposit and agreed damages are claimed together; the law lets one choose only one of them.",
            "同时主张定金与违约金，依法只能择一适用。",
        ),
        suggestion=Wording(
            "Let the innocent party choose one, with further loss on proof.",
            "改为守约方择一适用，不足部分凭证据另行索赔。",
        ),
        law=law.DEPOSIT_OR_DAMAGES,
    ),
    Rule(
        id="loan-rate-high",
        covers=("late-interest-high",),
        category="Payment",
        severity="HIGH",
        harms="payer",
        types=("loan",),
        en=(r"interest … (?:%|percent)",),
        zh=(r"(?:利率|利息|月息|年息|日息) … (?:%|‰|百分之|千分之|万分之|分)",),
        judge=interest(high=24.0, medium=14.0),
        risk=Wording(
            "The rate is far above market and may pass the limit that courts protect.",
            "利率过高，可能超出司法保护的上限。",
        ),
        suggestion=Wording(
            "Bring the yearly rate, with all fees, under the limit in force at signing.",
            "将综合年利率降至订约时司法保护上限以内。",
        ),
        law=law.USURY,
        reach=40,
    ),
    Rule(
        id="interest-in-advance",
        category="Payment",
        severity="HIGH",
        harms="payer",
        en=(
            r"(?:deduct|withh[eo]ld)\w{0,3} … interest … (?:from the (?:principal|loan)|in advance|at disbursement)",
        ),
        zh=(
            r"(?:预先|提前|先行|放款时|发放时) …8 (?:扣除|扣收|扣减) …12 (?:利息|费用)",
            r"利息 … (?:预先|在本金中|从本金中|放款时) …6 (?:扣除|扣收)",
        ),
        types=("loan",),
        risk=Wording(
            "Interest is taken out of the principal beforehand; only what was paid out counts as the loan.",
            "利息预先从本金中扣除，依法应按实际出借数额计算本息。",
        ),
        suggestion=Wording(
            "Pay out the whole principal and let interest fall due afterwards.",
            "足额发放本金，利息按期后付。",
        ),
        law=law.INTEREST_IN_ADVANCE,
        confidence=0.9,
        negotiability="HIGH",
    ),
)
