"""Categories of price, volume, liability and security."""

from stagepost.tasks.contract_review.categories.category import Category

_MONEY = r"(?:\$|usd|us\$|%|percent|amount|fees|paid|payable|sum|price)"

CATEGORIES = (
    Category(
        name="Revenue/Profit Sharing",
        en=(
            r"(?:percent|%|share|portion|royalt(?:y|ies)|commission|split|revenue share) … (?:of|on) … (?:net sales|revenue|profits?|gross|receipts|net income|proceeds|cash flow)",
            r"(?:revenue|profit)s?[- ]shar\w{2,3}",
            r"royalt(?:y|ies) … (?:equal|of|at) … (?:percent|%)",
            r"(?:pay|receive|entitled to|distribut\w{1,4}) … (?:percent|%) … (?:net|gross|revenue|profits?|sales)",
        ),
        unless_en=(
            r"voting|shares? of (?:common|capital)|stock|interest rate|per annum|late|audit|discrepan|underpa",
            r"outstanding",
        ),
        zh=(
            r"(?:收入|利润|营收|收益|分成|提成|分红) …16 (?:分成|分配|分享|比例|按)",
            r"按 … (?:比例|%) … (?:分成|分配)",
        ),
    ),
    Category(
        name="Most Favored Nation",
        en=(
            r"most[- ]favou?red",
            r"(?:no|not) less favou?rable (?:\w{2,14} ){0,6}than … (?:other|any third|similar|offered|provided)",
            r"(?:lower|better|more favou?rable|best) (?:price|rate|terms|conditions|royalt)\w{0,3} … (?:than|to any|other|third)",
            r"\bmfn\b|lowest price|best price",
            r"(?:than|as) (?:those|that|the (?:price|terms)) (?:\w{2,14} ){0,4}(?:offered|charged|granted|given|provided) to (?:any )?(?:other|third)",
        ),
        unless_en=(r"insurance|coverage",),
        zh=(r"最惠|最优惠|不(?:高于|劣于)\S{0,16}(?:其他|第三方)",),
    ),
    Category(
        name="Price Restrictions",
        en=(
            r"(?:price|fee|rate|charge|rent|cost)s? … (?:shall not|will not|may not|not be) (?:\w{2,12} ){0,3}(?:increase|exceed|raise|rais|chang|adjust)",
            r"(?:increase|adjust)\w{0,4} … (?:price|fee|rate|charge)s? … (?:not exceed|no more than|limited to|once (?:per|a|in|each)|cpi|consumer price|index)",
            r"(?:increase|change) in (?:the )?(?:price|fee|rate)s? … (?:not exceed|shall not|limited)",
        ),
        unless_en=(r"liabilit",),
        zh=(
            r"(?:价格|单价|租金|费用|服务费) …16 (?:不(?:得)?(?:上调|变动|调整|变更|超过)|固定|涨幅)",
        ),
    ),
    Category(
        name="Minimum Commitment",
        en=(
            r"minimum (?:\w{2,14} ){0,3}(?:purchase|order|quantit|commitment|volume|royalt|payment|guarantee|sales|requirement|number|fee|annual|amount|revenue|total|of \(?\w|values?|spend)",
            r"(?:purchase|order|buy|take|sell|pay|spend|provide|appear|perform|deliver|open|conduct) … (?:at least|no(?:t)? (?:less|fewer) than|a minimum of) … (?:units?|products?|\$|dollars|per (?:year|month|quarter)|annual|each|\d)",
            r"(?:at least|no(?:t)? (?:less|fewer) than|a minimum of) … (?:units?|percent|%|\$) … (?:per|each|during|annually|purchase)",
        ),
        unless_en=(r"insurance|coverage|rating|wage|majority|years? of age|net worth",),
        zh=(
            r"(?:最低|保底|不低于|不少于) …12 (?:采购|购买|订货|销售|消费|提货|任务|业绩|进货|数量)",
        ),
        reach=70,
    ),
    Category(
        name="Volume Restriction",
        en=(
            r"(?:exceed|in excess of|more than|maximum of|up to|limit(?:ed)? to|maximum) … (?:units|users|quantit|volume|capacity|number of|copies|hours|page views|transactions|percent of the|annual forecast|forecast)",
            r"(?:maximum|capacity) (?:\w{2,12} ){0,2}(?:quantity|volume|number|usage|capacity|hours)",
            r"(?:limit|restrict)\w{0,4} (?:on|to|the) (?:the )?(?:number|volume|quantity|amount) of",
        ),
        unless_en=(r"liabilit|damages|days|insurance|interest|law",),
        zh=(r"(?:最多|不超过|上限) …12 (?:用户|数量|次|份|套|台|吨|小时)",),
    ),
    Category(
        name="Audit Rights",
        en=(
            r"(?:right to|may|entitled to|permit|allow|access to|shall|available for|upon|conduct|cause) … (?:audit|inspect|examin\w{1,4}|review) … (?:books|records|premises|facilit|accounts|documents|accuracy|compliance|statements|such|the|to)",
            r"(?:books|records|accounts) … (?:audit|inspect|examin|available|access|open to)",
            r"(?:independent|certified public|its own|outside) (?:\w{3,12} ){0,2}(?:accountant|auditor)s? … (?:audit|inspect|examin|review|verify)",
            r"audit … (?:rights?|reveal|disclos|discrepan|underpayment|overpayment|cost|expense|conduct|records)",
            r"full access|available for inspection|right … to visit|opportunity to examine",
            r"inspect … (?:facilit|premises|site|records|books|plant|unit)",
        ),
        unless_en=(
            r"due diligence investigation|product (?:inspection|received)|upon receipt|sec\b|securities and exchange|audit committee|annual audited|audited financial",
        ),
        zh=(r"(?:有权|可以?|配合|接受) … (?:审计|查阅|核查|查账|审查|抽查)", r"审计权"),
        reach=80,
    ),
    Category(
        name="Uncapped Liability",
        en=(
            r"(?:limit|exclu|cap)\w{0,8} … (?:shall not|will not|does not|do not|not) (?:apply|limit|exclude) … (?:breach|indemn|fraud|gross negligence|wil{1,2}ful|confidential|death|intentional)",
            r"(?:except|other than|with the exception|save|excluding) … (?:consequential|indirect|incidental|punitive|(?:aggregate|total) liability|any liability|be liable)",
            r"(?:consequential|indirect|incidental|punitive|(?:aggregate|total) liability|limitations?) … (?:except|other than|provided,? however|which claims are excluded|shall not apply|in the case of)",
            r"nothing in this (?:agreement|clause|section|contract) … (?:limit|exclude|restrict) … liabilit",
            r"unlimited liability|liability … unlimited|without limit(?:ation)? (?:of|as to|in) (?:amount|liability)",
        ),
        zh=(
            r"无限(?:连带)?责任",
            r"(?:责任|赔偿) …12 (?:不受|无|没有) …6 (?:限制|上限)",
            r"(?:上限|限制) …12 不适用",
        ),
        reach=420,
    ),
    Category(
        name="Cap On Liability",
        en=(
            r"(?:in no event|under no circumstances?|neither party|no party|not be|shall not|will not|not|have no) … (?:liab|responsible) … (?:consequential|indirect|incidental|special|punitive|exemplary|lost profits?|loss of (?:profit|revenue|business|data))",
            r"liabilit(?:y|ies) … (?:limited to|exceed|not exceed|not to exceed|shall not|greater than|be limited|no event)",
            r"(?:aggregate|total|maximum|entire|cumulative) liability",
            r"(?:no|any) liability … (?:exceed|in excess of|beyond)",
            r"(?:sole|exclusive|only) (?:and exclusive )?(?:liability|remedy|obligation) … (?:shall be|is|are|limited to|refund|replace|repair)",
            r"(?:liable|damages?|recover) … (?:in excess of|exceed(?:ing)?|more than|greater than) … (?:\$|amount|fees|price|percent|paid)",
            r"liabilit\w{1,4} … (?:loss|damages?) … (?:is|are|be) excluded",
            r"(?:in no event|neither party|no party|shall not|not) … be liable … (?:damages|loss|claims|expenses)",
            r"limitations? … (?:shall|will) apply|subject to the limitations?",
            r"(?:action|claim|suit)s? … (?:commenced|brought|barred|instituted) … (?:within|unless|after) … years?",
            r"(?:claims|losses|damages|reimbursements?|responsibility) … (?:shall|will)(?: in no event| not| under no circumstances?)? (?:be limited to|exceed)",
            r"(?:not assert|waives?|foregoes?) … (?:consequential|indirect|special|punitive|exemplary) damages",
            r"(?:shall not|not) be (?:liable|responsible) for (?:any|the) (?:loss|damage|act|claim|delay|failure|error)",
        ),
        unless_en=(r"limits? of not less|certificates? of insurance",),
        zh=(
            r"(?:赔偿|责任|违约金) …16 (?:不超过|不得超过|为限|上限|限额)",
            r"(?:不承担|不负|不赔偿) …20 (?:间接|利润|可得利益|后果性)",
        ),
        reach=200,
    ),
    Category(
        name="Liquidated Damages",
        en=(
            r"liquidated damages|liquidated sum",
            r"(?:termination|cancellation|early termination) (?:fee|charge|penalty|payment)",
            r"(?:penalt(?:y|ies)|agreed damages) … (?:of|equal|\$|percent|%|per day)",
            r"pay … (?:\$|percent|%) … (?:per day|each day|as compensation)",
            r"(?:end of agreement|break-?up|kill) fee",
        ),
        unless_en=(r"tax|civil penalt|criminal|interest",),
        zh=(r"违约金|滞纳金|罚款",),
        reach=80,
    ),
    Category(
        name="Warranty Duration",
        en=(
            r"warrant\w{0,4} … (?:for a period|period of|for|within|until|expire) … (?:days?|months?|years?)",
            r"warranty (?:period|term)|(?:days?|months?|years?)'? (?:\w{3,10} )?(?:limited )?warranty",
            r"(?:reject|claims?|notice of rejection|accept) … within … (?:days?|months?|years?) … (?:receipt|delivery|becomes aware)",
            r"within … (?:days?|months?|years?) … (?:receipt|delivery) … (?:reject|defect|non-?conform|test)",
            r"(?:shelf[- ]life|defects?|nonconform\w{2,6}|conform) … (?:for a period|within|period of|from) … (?:days?|months?|years?)",
            r"(?:for a period|within|period of) … (?:days?|months?|years?) … (?:warrant|defect|free from)",
        ),
        unless_en=(
            r"represents and warrants that it has|right to terminate|invoice|notice of termination",
        ),
        zh=(r"(?:质保期|保修期|质量保证期|免费维护期|保质期)",),
        reach=110,
    ),
    Category(
        name="Insurance",
        en=(
            r"insurance … (?:maintain|procure|obtain|carry|coverage|polic|limit|\$|certificate|insured|purchase|secure|provide|shall|will)",
            r"(?:maintain|procure|obtain|carry|keep|provide|purchase|secure) … insurance",
            r"(?:additional|named) insureds?|certificates? of insurance|(?:insurance|such) (?:policy|policies|coverage)|workers'? compensation|self-insur",
            r"commercial general liability|per occurrence|polic(?:y|ies) … premium",
        ),
        unless_en=(
            r"insurance compan(?:y|ies) (?:law|commissioner)|federal deposit insurance|health insurance|life insurance product",
        ),
        zh=(r"(?:投保|购买|办理) …20 (?:保险|险)", r"保险(?:金额|单|费|责任)"),
        unless_zh=(r"社会保险|五险",),
        reach=90,
    ),
)
