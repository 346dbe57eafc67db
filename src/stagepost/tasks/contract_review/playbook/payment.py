"""Rules on price, payment, and what must be bought."""

import re

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import (
    by_length,
)
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_SEVERE = re.compile(
    r"deposit|forfeit|all (?:\w{3,12} ){0,2}(?:fees|amounts|payments|sums)|prepaid|advance"
)
_NEGATED = r"(?:either|each) party|(?:shall|will) not (?:be )?(?:liable|pay)"

RULES = (
    Rule(
        id="payment-term-long",
        category="Payment",
        severity="MEDIUM",
        harms="supplier",
        en=(
            r"(?:pay|paid|payable|payment|invoice)\w{0,3}\b … (?:within|net|no later than|not later than) … days",
        ),
        unless_en=(r"refund|audit|terminat|dispute|notice|royalt|cure|past due",),
        zh=(
            r"(?:收到|验收|开具|交付|到货|完成|合格) …24 (?:日|天|个月|月)(?:之)?内 … (?:支付|付款|付清|结清|结算)",
            r"(?:账期|付款期限|结算周期|付款周期) … (?:日|天|个月)",
        ),
        unless_zh=(r"退还|退款|异议|质保金|违约金|保证金",),
        judge=by_length(((89, "MEDIUM"), (60, "LOW")), None),
        risk=Wording(
            "Payment comes late: the supplier finances the customer for months.",
            "付款期限过长，供方长期垫资，回款风险大。",
        ),
        suggestion=Wording(
            "Ask for 30 days from receipt of the invoice, and interest on late payment.",
            "争取收到发票后30日内付款，并约定逾期付款利息。",
        ),
    ),
    Rule(
        id="pay-when-paid",
        category="Payment",
        severity="MEDIUM",
        harms="supplier",
        en=(
            r"pay[- ](?:when|if)[- ]paid",
            r"(?:pay|payment|payable|paid) … (?:only )?(?:after|upon|when|if|conditioned|contingent|until) … (?:receiv\w{2,4}|receipt of) … (?:payment|funds|monies) from (?:the |its )?(?:owner|end|client|customer|third|principal|head)",
        ),
        zh=(
            r"(?:收到|取得|到账|待)(?:[甲乙]方(?:的)?)?(?:建设单位|业主|最终(?:用户|客户)|客户|第三方|上游|总包|发包方|财政|甲方的客户) …12 (?:付款|款项|支付|拨款|资金|回款) …6 后 … (?:支付|付款|付)",
            r"背靠背(?:付款|支付|原则|条款)?",
            r"(?:业主|最终(?:用户|客户)|客户|第三方|上游) …8 (?:未付款|未支付|延迟付款|未到账) … (?:不承担|有权|顺延|不构成)",
        ),
        risk=Wording(
            "Payment depends on a third party paying first; the risk of its default is shifted.",
            "付款以第三方先付款为前提（“背靠背”），将第三方违约风险转嫁给收款方。",
        ),
        suggestion=Wording(
            "Set a latest date for payment that holds whatever the third party does.",
            "约定不受第三方付款影响的最晚付款日。",
        ),
        confidence=0.8,
    ),
    Rule(
        id="payment-delay-excused",
        category="Payment",
        severity="MEDIUM",
        harms="supplier",
        en=(
            r"(?:late|delay(?:ed)?|failure to make|non-?)[ -]?pay\w{0,4} … (?:shall not|will not|not) (?:constitute|be (?:deemed|considered)|give rise|entitle)",
        ),
        unless_en=(r"waiver|accept",),
        zh=(
            r"(?:逾期|延迟|迟延|延期)(?:付款|支付) …20 (?:不承担|不构成违约|不视为违约|无需承担|不负|免除)",
            r"(?:乙方|供方|承包人)(?:不得|无权)(?:因此|以此为由|因甲方\S{0,12})? …8 (?:停止|暂停|中止|拒绝)(?:履行|供货|施工|服务)",
        ),
        risk=Wording(
            "Late payment has no consequence for the payer; the supplier must go on regardless.",
            "付款方逾期付款不承担责任，供方仍须继续履行，丧失抗辩手段。",
        ),
        suggestion=Wording(
            "Agree on interest for late payment and a right to suspend after a reminder.",
            "约定逾期付款利息，并保留经催告后暂停履行的权利。",
        ),
        law=law.BREACH,
        confidence=0.75,
    ),
    Rule(
        id="taxes-one-sided",
        category="Payment",
        severity="LOW",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:shall|will|must) (?:bear|pay|be responsible for) (?:any and )?all (?:\w{3,12} ){0,3}taxes … (?:whatsoever|of any kind|of whatever|regardless)",
        ),
        zh=(
            r"(?:一切|全部|所有)(?:的)?(?:税费|税款|税金|费用和税) …12 (?:均)?由[甲乙]方(?:承担|负担|缴纳)",
        ),
        unless_zh=(r"各自",),
        risk=Wording(
            "All taxes fall on one party, those of the other included.",
            "全部税费由一方承担，包括依法应由对方负担的税款。",
        ),
        suggestion=Wording(
            "Let each party bear its own taxes as the law allots them.",
            "改为双方各自依法承担税费。",
        ),
        confidence=0.75,
    ),
    Rule(
        id="prepayment-full",
        category="Payment",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"(?:full|100%|entire|total|all) (?:of the )?(?:payment|price|fees?|amount|contract)\w{0,2} … (?:in advance|prior to (?:delivery|shipment|commencement)|upon (?:signing|execution|signature))",
            r"(?:payable|paid|pay) … (?:fully|entirely|in full|100%) … (?:in advance|upon (?:signing|execution|signature)|prior to (?:delivery|shipment))",
        ),
        unless_en=(r"royalt|costs? of|expenses|consent|approv",),
        zh=(
            r"(?:签订|签署|生效)(?:本合同)?(?:之日|当日|后)? … (?:一次性|全额|全部|100%|百分之百)(?:支付|付清|预付|缴纳|付)",
            r"(?:交付|发货|交货|开工)前 … (?:付清|支付)(?:全部|全额|100%|百分之百)",
        ),
        unless_zh=(r"退还|退款|违约金|押金|保证金",),
        risk=Wording(
            "All is paid before anything is delivered; no lever is left if delivery fails.",
            "款项在交付前一次付清，对方不履行时缺乏制约手段。",
        ),
        suggestion=Wording(
            "Pay by milestones and keep 10-20 % until acceptance, or ask for a bank guarantee.",
            "改为分期支付并保留10%至20%尾款至验收合格，或要求履约担保。",
        ),
    ),
    Rule(
        id="set-off-one-sided",
        category="Payment",
        severity="LOW",
        harms="other",
        one_sided=True,
        en=(
            r"(?:may|entitled to|(?:has|have|reserves?) the right to) (?:\w{2,14} ){0,3}(?:set[- ]?off|offset|deduct|withhold) … (?:any|amounts?|sums?|payments?|from)",
        ),
        unless_en=(r"tax|withholding|either party|each party|not ", r"resigns?|salary"),
        zh=(
            r"有权 … (?:从|在|自) …24 (?:款项?|费用?|金)中?(?:直接|自行)?(?:予以)?(?:扣除|抵扣|扣减|扣款|抵销)",
            r"有权(?:直接|自行|单方)?(?:扣除|抵扣|扣减|扣留|暂停支付|拒绝支付|拒付)",
        ),
        unless_zh=(r"双方", r"税|个人所得税|代扣代缴"),
        risk=Wording(
            "One party may deduct what it claims from what it owes, without the claim being established.",
            "一方可自行从应付款中扣除主张的金额，无需对方确认或裁判。",
        ),
        suggestion=Wording(
            "Allow deduction only of claims that are undisputed or decided, after notice with reasons.",
            "限于无争议或经裁判确认的债权，并须事先书面说明。",
        ),
        law=law.SET_OFF,
        confidence=0.65,
    ),
    Rule(
        id="minimum-commitment",
        category="Minimum Commitment",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"(?:shall|must|will|agrees?|obligat\w{1,3}|undertakes?|maintain|fails? to) … minimum (?:\w{3,14} ){0,2}(?:purchase|order|quantit(?:y|ies)|commitment|volume|royalt(?:y|ies)|payment|sales|revenue)",
            r"minimum (?:\w{3,14} ){0,2}(?:purchase|quantit(?:y|ies)|commitment|volume|royalt(?:y|ies)|sales|revenue)\w? … (?:shall|must|is required)",
            r"(?:purchase|order|buy|take|sell) … (?:at least|no(?:t)? (?:less|fewer) than|a minimum of) … (?:units|products|per (?:year|month|quarter)|annually|\$|tons|each (?:year|month|quarter))",
        ),
        unless_en=(
            r"insurance|coverage|wage|limits?|no minimum|without (?:any )?minimum|notice|balance|rating|shelf|size|framework|subject to",
        ),
        zh=(
            r"(?:最低|保底|最少|不低于|不少于) …10 (?:采购|购买|订货|订购|消费|销售|提货|任务|业绩|进货)(?:量|额|金额|数量|任务|指标)?",
            r"(?:年度|每年|每月|季度) …6 (?:采购|购买|订货|销售|进货)(?:量|额|金额|任务)?(?:应|须)?(?:不低于|不少于|达到)",
        ),
        unless_zh=(r"工资|保险",),
        risk=Wording(
            "A minimum must be bought or paid, whether it is needed or not.",
            "约定最低采购量或保底金额，需求下降时仍须履行。",
        ),
        suggestion=Wording(
            "Replace it by a forecast, or let shortfalls roll over and fall away when supply fails.",
            "改为预测性目标，或允许差额顺延，并在对方供货不足时免除。",
        ),
        confidence=0.75,
    ),
    Rule(
        id="most-favoured-customer",
        category="Most Favored Nation",
        severity="MEDIUM",
        harms="supplier",
        en=(
            r"most[- ]favou?red",
            r"(?:no|not) less favou?rable (?:\w{2,12} ){0,4}than … (?:other|any third|similar)",
            r"(?:lowest|best) (?:price|rate|terms) … (?:any|other|offered|customer)",
            r"(?:offers?|charges?|sells?|grants?|provides?) … (?:third part(?:y|ies)|other customer|any other|other purchaser) … (?:lower price|more favou?rable|better (?:price|terms))",
        ),
        unless_en=(r"insurance|coverage|tax|law|audit|assign|employ|benefit",),
        zh=(
            r"最惠(?:客户|待遇|国|条款|价格)?",
            r"(?:不高于|不得高于|低于|优于) … (?:其他|任何|第三方|同类)(?:客户|方|用户|第三方|经销商)",
            r"(?:市场|同期|全网)最低价",
        ),
        risk=Wording(
            "The supplier must match the best terms it gives anyone, which is hard to control and costly.",
            "须向对方提供不劣于任何第三方的最优惠条件，限制定价自由且难以核查。",
        ),
        suggestion=Wording(
            "Limit it to comparable customers, volumes and terms, without refund for the past.",
            "限定于可比客户、数量与条件，且不追溯适用。",
        ),
    ),
)
