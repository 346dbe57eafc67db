"""Contracts written for the tests, each with its own way of numbering."""

from itertools import pairwise

from stagepost.tasks.documents import Document, Page


def document(text: str, *, pages: tuple[int, ...] = (), media_type: str = "text/plain") -> Document:
    """A document of that text; `pages` are where its second and later pages begin."""
    bounds = [0, *pages, len(text)]
    return Document(
        name="contract",
        media_type=media_type,
        sha256="0" * 64,
        bytes=len(text.encode()),
        text=text,
        pages=tuple(
            Page(number=number, start=start, end=end)
            for number, (start, end) in enumerate(pairwise(bounds), 1)
        ),
        language="en",
    )


SERVICES = """\
Exhibit 10.4

SERVICES AGREEMENT

This Services Agreement (this "Agreement") is made on 1 March 2024 between Alder Ltd (the
"Customer") and Birch GmbH (the "Supplier").

RECITALS

A. The Customer needs maintenance for its machines.

B. The Supplier maintains machines, as described in
Section 2.1 of its general terms.

NOW, THEREFORE, the parties agree as follows:

1. DEFINITIONS

1.1 "Fees" means the amounts in Schedule 1.

1.2 "Machines" means the machines at the sites of the Customer.

2. SERVICES

2.1 Scope. The Supplier shall maintain the Machines under the conditions of Section 2.3 and in
accordance with
Section 9.4 hereof.

2.2 Standards. The Supplier shall:

(a) employ trained staff;

(b) follow the manuals, including

(i) those of the maker; and

(ii) those of the Customer;

(c) keep records.

2.3 Access. The Customer grants access.

3. FEES

The Customer shall pay the Fees within
30 days after receipt of an invoice, and interest of
1.5 percent a month on late payments.

4. TERM; TERMINATION

4.1 This Agreement runs for two years.

4.2 Either party may terminate it under Section 4.1 or Article 17.

IN WITNESS WHEREOF, the parties have signed this Agreement.

By: ____________________
Name:
Title:

SCHEDULE 1
Fees

1. Monthly fee: EUR 5,000.

2. Call-out fee: EUR 300.
"""

ARTICLES = """\
SUPPLY AGREEMENT

TABLE OF CONTENTS

Article I Definitions 1
Article II Supply 2
Article III Liability 4

THIS AGREEMENT is made between Cedar Inc. and Dogwood Inc., who agree:

ARTICLE I
DEFINITIONS

Section 1.1 Product. "Product" has the meaning set forth in Exhibit A.

Section 1.2 Territory. "Territory" means Norway.

ARTICLE II
SUPPLY

Section 2.1 Orders. Cedar orders under Section 1.1.

Section 2.2 Delivery. Dogwood delivers as Section 365 of the Bankruptcy Code allows.

ARTICLE III
LIABILITY

Section 3.1 Cap. The cap of Sections 2.1 and 2.2 applies; paragraph (a) of Section 5.5 does not.

EXHIBIT A
PRODUCT

(a) Bolts.

(b) Nuts.
"""

# As some filings come: a page is one line, and numbers stand within it.
FLAT = (
    "CONSULTING AGREEMENT This agreement is between Elm LLC and Ms. Fir. The parties, each of them"
    " intending to be bound and in consideration of the promises below, which both hold sufficient,"
    " agree as follows: 1. Services. Ms. Fir advises Elm on forests, as set out in Section 3 below"
    " and for no more than 20 hours a month. 2. Fees. Elm pays 100 dollars an hour. Invoices are"
    " due within 30 days. 3. Term. This agreement ends on 31 December 2025 unless both parties"
    " extend it. 4. Secrets. Ms. Fir keeps Elm's secrets. Nothing in Section 2 limits that."
)

UNNUMBERED = """\
Confidentiality Agreement

Grove Ltd and Heath Ltd wish to discuss a joint project and agree as follows:

Secret Information

Information that one party gives the other in writing and marks as secret is Secret Information.
It does not include what the public knows already or learns later without a breach of this letter.

The receiving party uses it for the project only, keeps it as carefully as its own secrets and
returns it on request.

Term

This letter binds the parties for three years from the date on which both have signed it, and it
ends without notice. Duties that by their nature continue after its end do so.
"""

LEASE = """\
房屋租赁合同

出租方（甲方）：上海某某置业有限公司
承租方（乙方）：张某

甲乙双方经协商一致，就房屋租赁事宜达成如下协议：

第一条 房屋基本情况
1.1 甲方将位于上海市某路1号的房屋（以下简称"该房屋"）出租给乙方。
1.2 该房屋建筑面积为89.5平方米。

第二条 租赁期限
租赁期限为3年。乙方续租的，应提前30日书面通知甲方，并按照
第十条规定的方式送达。

第三条 租金及支付方式
3.1 租金为每月人民币8000元。
3.2 支付方式：
（1）乙方应于每月5日前支付当月租金；
（2）逾期支付的，按《民法典》第五百八十五条、第五百八十六条及本合同第四条承担责任。

第四条 违约责任
任何一方违反第三条约定的，按附件一第2项支付违约金。

第五条 其他
本合同一式两份，自双方签字盖章之日起生效。

附件：
附件一：房屋交割清单
附件二：身份证复印件

（以下无正文）

甲方（盖章）：          乙方（签字）：
签订日期：    年  月  日

附件一：房屋交割清单
一、家具
1. 沙发一套
2. 床两张
二、电器
1. 空调三台
2. 冰箱一台
"""

FRAMEWORK = """\
                    目    录
第一章  总则 ............................ 1
第二章  合作内容 ........................ 2
第三章  附则 ............................ 3

                战略合作框架协议

第一章  总则
第一条  甲乙双方本着平等互利的原则，签订本协议。
第二条  本协议所称"合作项目"是指双方共同开展的项目。
第二章  合作内容
第三条  甲方负责以下事项：
（一）提供场地；
（二）提供设备。
第四条  乙方负责技术支持，并依照第三条第（二）项使用设备。
第三章  附则
第五条  本协议有效期五年。
"""

LISTED = """\
技术服务合同
委托方：甲公司（以下简称甲方）
受托方：乙公司（以下简称乙方）
甲乙双方经友好协商，订立本合同。
一、服务内容
（一）乙方为甲方提供软件开发服务。
（二）服务期限为12个月。
二、服务费用
（一）服务费总额为人民币120万元。
（二）付款方式如下：
1．合同签订后10日内支付30%；
2．验收合格后支付70%。
三、知识产权
全部成果的知识产权归甲方所有。
甲方：（盖章）            乙方：（盖章）
代表人：                  代表人：
日期：                    日期：
"""

ALL = (SERVICES, ARTICLES, FLAT, UNNUMBERED, LEASE, FRAMEWORK, LISTED)
