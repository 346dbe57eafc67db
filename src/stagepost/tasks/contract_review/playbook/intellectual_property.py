"""Rules on results, licences and names."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

RULES = (
    Rule(
        id="ip-background-assigned",
        category="Ip Ownership Assignment",
        severity="HIGH",
        harms="giver",
        covers=("ip-assignment",),
        en=(
            r"(?:pre-?existing|background|previously developed|prior) (?:ip\b|intellectual property|materials?|technolog(?:y|ies)|works?|software|know-?how|inventions?|code) … (?:shall (?:vest|belong|become|be owned|be the property)|assigns?|is hereby assigned|are hereby assigned|transfers? to)",
            r"(?:assigns?|transfers?|vest) … (?:including|as well as|and) (?:any |all |its |the )?(?:pre-?existing|background)",
        ),
        unless_en=(r"(?:retain|remain|reserve|exclud|except|other than|not |licen[sc]e)",),
        zh=(
            r"(?:原有|已有|既有|背景|在先|此前|自有|前期)(?:的)?(?:知识产权|技术|软件|成果|源代码|代码|资料|专利|著作权) … (?:归|转让|转移) …12 (?:[甲乙]方|委托[方人]|所有|享有)",
            r"(?:包括|含) … (?:原有|已有|既有|背景|在先)(?:的)?(?:知识产权|技术|软件|成果) … (?:归|转让|转移)",
        ),
        unless_zh=(r"仍归|仍属|各自|不(?:发生)?(?:转移|转让|归)|归其(?:自身|各自)?所有|归原|许可",),
        risk=Wording(
            "Know-how that existed before the contract passes to the other party along with the results.",
            "合同前已有的背景知识产权一并转移给对方，影响自身既有业务。",
        ),
        suggestion=Wording(
            "Keep background rights with their owner and grant a non-exclusive licence to use them with the results.",
            "背景知识产权归原权利人，仅授予为使用成果所必需的非独占许可。",
        ),
        law=law.COMMISSIONED_INVENTION,
        negotiability="HIGH",
    ),
    Rule(
        id="ip-assignment",
        category="Ip Ownership Assignment",
        severity="LOW",
        harms="giver",
        en=(
            r"(?:hereby )?(?:irrevocably )?assigns? … (?:all|its|entire|any) (?:\w{3,12} ){0,2}(?:right|title|interest|intellectual property|invention|copyright)",
            r"works? (?:made )?for hire",
            r"(?:inventions?|work product|deliverables|developments?|results|improvements) … (?:shall be|are|is) (?:the )?(?:sole |exclusive |sole and exclusive )(?:property|owned)",
        ),
        unless_en=(
            r"(?:may|shall|will|can)(?: not|not) assign|without (?:the )?(?:prior )?(?:written )?consent|successors",
            r"benefit of creditors|this agreement|rights? (?:or|and) obligations|neither party",
            r"licen[sc]or|\bshares?\b|\bstock\b|securities",
        ),
        zh=(
            r"(?:知识产权|著作权|版权|专利(?:申请)?权|成果|源代码|所有权) … (?:均|全部|完全|单独|独家|永久)?归[甲乙]方(?:单独|独家|独占|完全)?(?:所有|享有|拥有)",
            r"(?:知识产权|著作权|成果) … (?:转让|转移)(?:给|至|予)[甲乙]方",
        ),
        unless_zh=(r"原有|已有|背景|各自|交付前|付清前",),
        risk=Wording(
            "All rights in the results go to one party; the maker keeps nothing to reuse.",
            "全部成果权利归一方所有，开发方无法复用自身成果。",
        ),
        suggestion=Wording(
            "Let title pass only on full payment, and keep tools and general know-how with a licence back.",
            "约定付清价款后方转移权利，并保留通用工具、方法及返还许可。",
        ),
        law=law.COMMISSIONED_WORK,
        confidence=0.65,
    ),
    Rule(
        id="joint-ip",
        category="Joint Ip Ownership",
        severity="MEDIUM",
        harms="both",
        en=(
            r"(?:intellectual property|inventions?|patents?|results|work product|technology|improvements?|know-how|joint ip|copyrights?) … (?:jointly|joint) (?:own|ownership)\w{0,3}",
            r"(?:jointly|joint) (?:own|ownership)\w{0,3} … (?:intellectual property|inventions?|patents?|results|work product|technology|improvements?|know-how|joint ip|copyrights?)",
            r"(?:owned|vest\w{0,3}|belong) (?:\w{2,12} ){0,3}jointly (?:by|in|to) (?:the )?part",
        ),
        unless_en=(r"venture|not (?:be )?joint|account|entity|subsidiar|additional joint",),
        zh=(
            r"(?:知识产权|著作权|专利(?:申请)?权|成果|技术) … (?:归|由|为)?(?:甲乙)?双方(?:共同)?(?:共有|共同所有|共同享有|享有)",
            r"(?:双方)?共同(?:拥有|所有|享有) … (?:知识产权|著作权|专利|成果)",
        ),
        risk=Wording(
            "Joint ownership leaves open who may use, license or enforce the right, and how income is shared.",
            "共有权利的使用、许可、维权和收益分配规则不明，易生争议。",
        ),
        suggestion=Wording(
            "Name one owner and license the other, or settle use, licensing, cost and enforcement in detail.",
            "约定单一权利人并授予对方许可，或详细约定使用、许可、费用和维权规则。",
        ),
        law=law.COMMISSIONED_INVENTION,
    ),
    Rule(
        id="license-perpetual",
        category="Irrevocable Or Perpetual License",
        severity="MEDIUM",
        harms="subject",
        en=(
            r"(?:grants?|granted|granting) … (?:perpetual|irrevocable)",
            r"(?:perpetual|irrevocable)(?:,|\b) … (?:licen[sc]es?|right (?:to use|and licen))",
            r"licen[sc]e … (?:is|shall be|continue) (?:perpetual|irrevocable|in perpetuity)",
        ),
        unless_en=(
            r"not (?:be )?(?:perpetual|irrevocable)",
            r"proxy|power of attorney|attorney|letter of credit|instructions?|consent|jurisdiction|submit|waive|offer|appoint|royalty-?bearing",
            r"non-?perpetual",
        ),
        zh=(
            r"(?:永久|不可撤销|无限期|永久性|免费)(?:的)?…24 (?:许可|授权|使用权)",
            r"(?:许可|授权)[甲乙]方(?:永久|无限期|不可撤销)",
        ),
        unless_zh=(
            r"不(?:享有|具有|是|得)",
            r"通知|承诺|委托",
            r"(?:享有|获得|拥有|有权) …16 (?:永久|不可撤销|无限期)",
        ),
        risk=Wording(
            "The licence never ends or cannot be withdrawn, not even after a breach.",
            "许可永久或不可撤销，即使对方违约也无法收回。",
        ),
        suggestion=Wording(
            "Tie the licence to the term and to payment, revocable for material breach.",
            "将许可与合同期限及付款挂钩，重大违约时可撤销。",
        ),
    ),
    Rule(
        id="license-perpetual-held",
        category="Irrevocable Or Perpetual License",
        severity="MEDIUM",
        harms="other",
        zh=(r"(?:享有|获得|拥有|有权) …16 (?:永久|不可撤销|无限期) …20 (?:使用|许可|授权|利用)",),
        unless_zh=(r"不(?:享有|具有|得)",),
        risk=Wording(
            "A right of use never ends or cannot be withdrawn, not even after a breach.",
            "对方享有永久或不可撤销的使用权，即使其违约也无法收回。",
        ),
        suggestion=Wording(
            "Tie the right to the term and to payment, revocable for material breach.",
            "将使用权与合同期限及付款挂钩，重大违约时可撤销。",
        ),
    ),
    Rule(
        id="data-licence-broad",
        category="Data Protection",
        severity="MEDIUM",
        harms="subject",
        covers=("license-perpetual",),
        en=(
            r"grants? … licen[sc]e … (?:data|information|content) … (?:any (?:lawful )?purpose|own (?:business )?purposes?|marketing|improv|develop|train)",
        ),
        unless_en=(r"solely|only (?:to|for)|limited purpose",),
        risk=Wording(
            "Data handed over may be used for the other party's own ends, without an end.",
            "许可对方将数据用于其自身目的，且可能无期限。",
        ),
        suggestion=Wording(
            "Limit the licence to what the service needs, forbid passing on, and end it with the term.",
            "将许可限定为履行合同所必需，禁止对外提供，并随合同终止而终止。",
        ),
        law=law.PERSONAL_DATA,
    ),
    Rule(
        id="grant-back",
        category="Ip Ownership Assignment",
        severity="MEDIUM",
        harms="giver",
        covers=("ip-assignment",),
        en=(
            r"(?:improvements?|enhancements?|derivative works?|modifications?) … (?:made|developed|created) by (?:the )?(?:licensee|distributor|customer|franchisee|reseller) … (?:owned|property|belong|vest|assign)",
            r"(?:licensee|distributor|franchisee|reseller|customer) … (?:assigns?|grants? back|grants?) … (?:improvements?|enhancements?|derivative|modifications?)",
        ),
        unless_en=(r"licen[sc]or … (?:grants?|assigns?)|not assign|may not|shall not",),
        zh=(
            r"(?:后续改进|改进|改良|二次开发|衍生)(?:的)?(?:技术|成果|部分|作品|产品|版本)? …16 (?:归(?:许可方|甲方|乙方|出让方|让与人)|无偿(?:提供|许可|转让)|独占(?:性)?(?:回授|许可))",
        ),
        risk=Wording(
            "Improvements made by the user of the technology go to its owner, often for nothing.",
            "使用方作出的改进成果须归属或无偿回授权利方，可能构成限制技术进步。",
        ),
        suggestion=Wording(
            "Let the improver own its work, with a non-exclusive licence back against fair pay.",
            "改进成果归改进方，双方按互利原则有偿、非独占许可。",
        ),
        law=law.IMPROVEMENTS,
    ),
    Rule(
        id="covenant-not-to-sue",
        category="Covenant Not To Sue",
        severity="MEDIUM",
        harms="subject",
        en=(
            r"covenants? not to (?:sue|assert|bring|commence)",
            r"(?:shall|will|agrees?|may)(?: that it (?:shall|will))? ?not (?:to )?(?:\w{2,14} ){0,4}(?:contest|challenge|dispute|attack|oppose|question) … (?:validity|ownership|title|rights?|registration|enforceab)",
            r"(?:shall|will|agrees?) not (?:to )?(?:\w{2,14} ){0,3}(?:sue|bring (?:any )?(?:suit|action|claim)|assert any claim)\b",
        ),
        unless_en=(r"jurisdiction|venue|invoice|forum", r"arbitrat"),
        zh=(
            r"不得(?:对\S{1,16}?)?(?:提起|进行)(?:任何)?(?:诉讼|仲裁|起诉)",
            r"不得(?:以任何(?:方式|形式|理由))?(?:质疑|挑战|争议) …16 (?:有效性|权属|权利|所有权)",
            r"承诺不(?:提起|追究|起诉)",
        ),
        unless_zh=(r"双方",),
        risk=Wording(
            "A party promises not to sue or not to contest a right, even when it has good grounds.",
            "承诺不起诉或不质疑权利有效性，即使有正当理由也无法主张。",
        ),
        suggestion=Wording(
            "Delete it, or let it end with the contract and not cover own defences.",
            "删除，或限于合同期内且不影响抗辩权。",
        ),
        confidence=0.65,
    ),
    Rule(
        id="publicity",
        category="Publicity",
        severity="LOW",
        harms="other",
        one_sided=True,
        en=(
            r"(?:may|(?:have|has|reserves?) the right to|entitled to|grants? \w{3,14} the right to) (?:\w{2,14} ){0,3}(?:use|list|display|refer|identify) … (?:name|logo|trademark)s? … (?:marketing|promotion|advertis|publicity|customer list|website|reference)",
        ),
        unless_en=(
            r"(?:prior )?(?:written )?(?:consent|approval)|may not|either party|each party|licen[sc]e",
        ),
        zh=(
            r"(?:有权|可以?) … 使用 … (?:名称|商标|标识|logo|字号|肖像|案例) … (?:宣传|推广|广告|展示|案例)",
        ),
        unless_zh=(r"经\S{0,8}(?:同意|许可|批准)|不得",),
        types=("services", "software", "license", "sale", "other"),
        risk=Wording(
            "A party's name and logo may be used in advertising without being asked.",
            "可未经事先同意使用名称或标识进行宣传。",
        ),
        suggestion=Wording(
            "Require written consent for each use, revocable at any time.",
            "每次使用须经书面同意并可随时撤回。",
        ),
    ),
    Rule(
        id="data-use-broad",
        category="Data Protection",
        severity="MEDIUM",
        harms="other",
        en=(
            r"(?:may|right to|entitled to) (?:\w{2,14} ){0,4}(?:use|analy[sz]e|process|share|disclose|sell|retain) … (?:customer|client|user|personal|your|usage) (?:data|information|content) … (?:any (?:lawful )?purpose|own (?:business )?purposes?|marketing|improv|develop|train|third part)",
        ),
        unless_en=(
            r"(?:may|shall|will) not|solely|only (?:to|for)|prior (?:written )?consent|confidential information",
        ),
        zh=(
            r"(?:有权|可以?) … (?:使用|利用|处理|分析|共享|收集|提供|保留) …24 (?:数据|个人信息|用户信息|客户信息|资料) … (?:任何|商业|营销|第三方|自身|其他|关联|训练|永久)",
            r"(?:数据|个人信息|用户信息|客户信息) …16 (?:归[甲乙]方所有|由[甲乙]方(?:自由|任意|无偿)(?:使用|处理))",
        ),
        unless_zh=(r"不得|仅限|仅用于|经\S{0,8}同意|保密",),
        risk=Wording(
            "Data handed over may be used for the other party's own ends or passed on.",
            "对方可将数据或个人信息用于自身目的或提供给第三方。",
        ),
        suggestion=Wording(
            "Limit use to the service, forbid passing on, and require deletion at the end.",
            "限定仅为履行合同使用，禁止对外提供，终止后删除或返还。",
        ),
        law=law.PERSONAL_DATA,
    ),
)
