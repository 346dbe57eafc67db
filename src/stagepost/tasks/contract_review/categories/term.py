"""Categories of the contract's life: dates, term, renewal, ending."""

from stagepost.tasks.contract_review.categories.category import Category

CATEGORIES = (
    Category(
        name="Effective Date",
        en=(
            r"(?:agreement|contract|term|lease)\b … (?:effective|commenc|begin|start)\w{0,8} … (?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
            r"\"effective date\"\)? ?(?:means|shall (?:mean|be)|is|:)(?! (?:the )?meaning)|(?:the|an?|be|\() ?\"(?:effective|commencement) date\"",
            r"this … (?:agreement|contract|amendment|lease)\b … (?:made|entered into|dated|effective)\b … (?:as of|on|this|january|february|march|april|may|june|july|august|september|october|november|december|\d{4})",
            r"(?:made|entered into|dated|effective) (?:\w{1,12} ){0,3}(?:as of|on|this) … (?:between|among)",
            r"(?:agreement|contract|it) (?:shall |will )?(?:become|becomes|be|is|take) effect(?:ive)? (?:as of|on|upon|from|immediately|when)",
            r"commencement date … (?:will be|is|shall be)|effective date: ",
        ),
        unless_en=(r"has the meaning|that certain|notice",),
        zh=(
            r"(?:自|于|从) … (?:起生效|生效|起算|开始)",
            r"生效日(?:期)?(?:为|是|指|:)",
            r"(?:签订|签署|订立)(?:日期|时间)?(?:为|:)? ?\d{4}年",
        ),
        reach=45,
    ),
    Category(
        name="Expiration Date",
        en=(
            r"(?:term|agreement|contract|lease|license|appointment)\b … (?:shall|will|is|be) … (?:expire|terminate|end|continue|remain in (?:full )?(?:force|effect)|be for|be in effect) … (?:year|month|until|date|anniversary|day|\d{4}|earli|indefinitely|perpetual)",
            r"(?:initial |effective )?term (?:\(?\w{2,20}\)? ){0,8}(?:shall be|is|will be|means|shall begin|of this agreement) … (?:year|month|until|ending|continu|anniversary|period)",
            r"(?:shall |will )?(?:expire|terminate)s? on … (?:date|anniversary|january|february|march|april|may|june|july|august|september|october|november|december|day|\d{4})",
            r"term\"?: … (?:to|until|through|year|month)",
            r"for (?:a|an) (?:initial )?(?:term|period|duration) of … (?:year|month)",
            r"continue … (?:until|through|for (?:a period|the duration|so long as)|perpetually)",
            r"this agreement (?:shall|will) (?:terminate|expire) (?:upon|on|if|as to|when)",
            r"(?:shall |will |to )?(?:have|has) (?:a|an) (?:initial )?(?:term|duration) of",
            r"\"term\" means|(?:shall|will) (?:expire|terminate) (?:upon|on|if) … (?:earli|completion|payment|ceases)",
            r"term of execution|effective term",
        ),
        unless_en=(
            r"confidential",
            r"warrant",
            r"non-?compet|solicit",
            r"cure|remed(?:y|ied)",
            r"invoice|audit|records",
        ),
        zh=(
            r"(?:期限|有效期|合同期|租期|租赁期(?:限)?|合作期(?:限)?|服务期(?:限)?) … (?:年|个月|月|日|止|届满)",
            r"(?:至|到)\d{4}年\d{1,2}月\d{1,2}日(?:止|终止|届满|到期)?",
        ),
        unless_zh=(r"保密期|质保期|保修期|保证期",),
    ),
    Category(
        name="Renewal Term",
        en=(
            r"(?:automatically |shall |may |will |be |right to |option to |agree\w{0,5} (?:in writing )?to |right of )(?:\w{2,12} ){0,4}(?:renew|extend)\w{0,4} … (?:term|period|year|month|agreement)",
            r"(?:renewal|successive|additional|extension|subsequent|further) (?:\w{3,12} ){0,3}(?:terms?|periods?|years?|one-year)",
            r"successor franchise|year to year|automatically continue",
        ),
        unless_en=(
            r"not (?:be )?(?:renew|extend)",
            r"insurance|policy|financing|patent|cure|payment|audit|inspection|deliver",
        ),
        zh=(r"(?:自动)?(?:续期|续约|续签|续展|续订|顺延|延长)",),
        unless_zh=(r"工期|交付|交货|节假日",),
        reach=70,
    ),
    Category(
        name="Notice Period To Terminate Renewal",
        en=(
            r"(?:renew|extend)\w{0,4} … (?:unless|provided) … (?:days?|months?) … (?:prior|before|notice)",
            r"(?:notice|notif\w{2,4}|intent(?:ion)?) … (?:not to|non-?|to terminate|decline to) ?(?:renew|extend) … (?:days?|months?)",
            r"(?:days?|months?) … (?:prior|before|in advance) … (?:expiration|end|expiry) … (?:renew|extend|term)",
        ),
        unless_en=(r"for cause|breach",),
        zh=(r"(?:期满|届满|到期)前 …16 (?:日|天|个?月) …24 (?:通知|提出|书面|异议)",),
        reach=140,
    ),
    Category(
        name="Termination For Convenience",
        en=(
            r"termina(?:te|ted|ble|tion) … (?:at any time|for convenience|without cause|for any reason|for any or no reason|without reason|with or without)",
            r"termina(?:te|ted|ble) … (?:upon|on|by|with|giving|by giving|no less than|at least) … (?:days?'?|months?'?) (?:\w{3,8} ){0,3}(?:written )?notice",
            r"terminat\w{1,5} … (?:upon|on|by|with) (?:prior )?(?:written )?notice … (?:days?|months?)",
            r"(?:at any time|without cause|for any reason) … terminate",
            r"end on the \d{1,3}th day following",
        ),
        unless_en=(
            r"breach|default|fails? to|cure|remed(?:y|ied)|insolven|bankrupt|material|force majeure|non-?payment|infring|change of control|violat",
            r"employ(?:ee|ment)|insurance|policy|not (?:be )?terminat",
        ),
        zh=(
            r"(?:有权|可以?) … (?:随时|任意|单方|无理由|提前) … (?:解除|终止)",
            r"提前 … (?:日|天|个?月) … (?:通知|告知) … (?:解除|终止)",
        ),
        unless_zh=(r"违约|违反|逾期|不履行|破产|不可抗力",),
    ),
    Category(
        name="Post-Termination Services",
        en=(
            r"(?:upon|after|following|on|in the event of|event of) (?:\w{2,14},? ){0,5}(?:termination|expiration|expiry) … (?:shall|will|agrees?|must|obligat) … (?:return|destroy|deliver|cease|discontinue|provide|assist|cooperate|pay|transfer|complete|purchase|remove|continue|entitled|have the right|refund|assign|surrender|retain)",
            r"(?:termination|expiration) … (?:transition|wind[- ]down|sell[- ]off|phase[- ]out|orderly|return|destroy|deliver|assist|cooperate|inventory)",
            r"(?:transition|wind[- ]down|sell[- ]off|termination) (?:services|period|assistance|plan)",
            r"(?:period|months?|years?|days) (?:\([^()]{1,16}\) )?(?:after|following) (?:\w{2,14},? ){0,5}(?:termination|expiration|expiry) … (?:shall|will|may|retain|maintain|continue)",
        ),
        unless_en=(
            r"confidential information|compet|solicit|audit",
            r"employee|insolven|insurance",
        ),
        zh=(r"(?:终止|解除|期满|届满)后 … (?:应|须|继续|提供|协助|移交|返还|交接|归还)",),
        unless_zh=(r"保密|竞业",),
        reach=120,
    ),
)
