"""Writes the sample contract that `make demo` reviews: a PDF of a few pages, the same every time.

The agreement and both companies are invented. It holds ordinary clauses and, on purpose, a dozen
risky ones, an amount whose words and figures differ, a reference to a clause that does not exist
and an annex that is not attached.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer

TITLE = "SOFTWARE SERVICES AGREEMENT"

# Paragraphs stand between empty lines; "7. Title" is a heading.
TERMS = """
This Software Services Agreement is made on 3 March 2026 between Larkfield Analytics Limited, a
company registered in Ireland with its office at 14 Quay Row, Cork (the "Supplier"), and Marlowe
& Finch Retail Inc., a Delaware corporation with its office at 220 Harbor Street, Portland
(the "Customer").

The Supplier runs a stock planning service for shops. The Customer wants to use it in its
stores. The parties agree as follows.

1. Definitions

1.1 "Services" means the hosted stock planning service, its support and the setup work described
in Schedule A.

1.2 "Fees" means the amounts set out in clause 4 and Schedule B.

1.3 "Customer Data" means all data that the Customer or its staff enter into the Services.

1.4 "Term" means the period during which this Agreement is in force.

2. Services

2.1 The Supplier will provide the Services with reasonable skill and care and in line with
Schedule A.

2.2 The Supplier may at any time and without prior notice modify the Services, including their
features and service levels.

2.3 The Supplier may subcontract any part of the Services without the consent of the Customer.

2.4 The Customer will name one person who may give instructions to the Supplier.

3. Acceptance

3.1 The Customer will test the setup work against the acceptance criteria in Schedule C.

3.2 If the Customer does not reject the setup work in writing within three (3) days after
delivery, the setup work shall be deemed accepted.

4. Fees and payment

4.1 The Customer will pay an annual fee of one hundred and eighty thousand dollars ($108,000)
for each contract year.

4.2 The Supplier will invoice the annual fee in advance. The Customer will pay each invoice
within thirty (30) days of receipt.

4.3 The Supplier may increase the Fees at any time in its sole discretion.

4.4 Overdue amounts bear interest at 4 % per month until they are paid.

4.5 All Fees paid are non-refundable and are forfeited on any early end of this Agreement.

5. Term and renewal

5.1 This Agreement starts on 1 April 2026 and continues for an initial term of three (3) years.

5.2 After the initial term this Agreement automatically renews for successive periods of three
years unless the Customer gives notice of non-renewal at least one hundred and eighty (180) days
before the end of the running period.

6. Termination

6.1 Either party may terminate this Agreement if the other commits a material breach and does
not remedy it within thirty (30) days after written notice.

6.2 The Supplier may terminate this Agreement at any time for its convenience on five (5) days'
written notice to the Customer.

6.3 On termination the Customer will stop using the Services and each party will return what
belongs to the other.

6.4 The rights of the parties under clause 19.4 are not affected by termination.

7. Confidentiality

7.1 Each party will keep the other party's confidential information secret and use it only for
the purposes of this Agreement.

7.2 This duty does not apply to information that is public, was known before, was developed
independently or must be disclosed by law.

7.3 This duty ends five years after the end of this Agreement.

8. Customer Data

8.1 The Customer grants the Supplier a perpetual and irrevocable licence to use Customer Data
for any purpose, including marketing and the development of other products.

8.2 The Supplier will back up Customer Data once a day.

9. Intellectual property

9.1 The Supplier keeps all rights in the Services and in its software.

9.2 The Customer hereby assigns to the Supplier all right, title and interest in any
improvements suggested by its staff.

10. Warranties

10.1 The Supplier warrants that it has the right to provide the Services.

10.2 Except as stated in clause 10.1, the Services are provided "as is" and the Supplier
disclaims all warranties, express or implied.

11. Liability

11.1 In no event shall the Supplier be liable for any indirect, special or consequential damages
or for lost profits.

11.2 The total liability of the Supplier under this Agreement shall not exceed the fees paid for
the one month before the claim.

11.3 The liability of the Customer for any breach of clause 2.4 or clause 7 is unlimited.

12. Indemnity

12.1 The Customer shall indemnify, defend and hold the Supplier harmless from all claims arising
out of the use of the Services, regardless of the negligence of the Supplier.

13. Audit

13.1 The Supplier may inspect the books and records of the Customer at any time without notice
to verify the number of stores in which the Services are used.

14. General

14.1 Neither party is liable for delay caused by events beyond its reasonable control. A party
that is affected will give notice without delay.

14.2 The Supplier may assign this Agreement to any person without the consent of the Customer.

14.3 Notices must be in writing and sent to the address given above.

14.4 This Agreement and its schedules are the whole agreement of the parties. Changes must be
made in writing and signed by both parties.

15. Law and disputes

15.1 This Agreement is governed by the laws of Ireland.

15.2 Any dispute that the parties cannot settle within sixty days shall be finally resolved by
binding arbitration.
"""

SIGNATURES = """
Signed for Larkfield Analytics Limited

Name: ______________________    Date: ____________

Signed for Marlowe & Finch Retail Inc.

Name: ______________________    Date: ____________
"""

SCHEDULES = """
SCHEDULE A – SERVICES

Stock planning for up to forty stores, with daily forecasts by article and store.

Support by e-mail on working days from 9:00 to 17:00, first answer within eight hours.

Setup: import of two years of sales data, and training of up to twelve people.

SCHEDULE B – FEES

The annual fee stated in clause 4.1 covers forty stores. Each further store costs $2,400 a year.

Setup is charged once, at $15,000, when the setup work is accepted.
"""

_IS_HEADING = re.compile(r"\d{1,2}\. |SCHEDULE ")
_BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=15.5, spaceAfter=6)
_TITLE = ParagraphStyle(
    "title", fontName="Times-Bold", fontSize=16, leading=20, alignment=TA_CENTER, spaceAfter=14
)
_HEADING = ParagraphStyle(
    "heading",
    fontName="Times-Bold",
    fontSize=12,
    leading=16,
    spaceBefore=10,
    spaceAfter=5,
    keepWithNext=1,
)


def write_sample(path: Path) -> None:
    """Write the sample contract to `path`; two calls write the same bytes."""
    document = SimpleDocTemplate(
        str(path),
        pagesize=A4,
        leftMargin=26 * mm,
        rightMargin=26 * mm,
        topMargin=24 * mm,
        bottomMargin=24 * mm,
        title="Software Services Agreement",
        author="Stagepost sample",
        invariant=1,
    )
    document.build(_story(), onFirstPage=_footer, onLaterPages=_footer)


def _story() -> list[Flowable]:
    return [
        Paragraph(TITLE, _TITLE),
        *_paragraphs(TERMS),
        Spacer(1, 8 * mm),
        *_paragraphs(SIGNATURES),
        *_paragraphs(SCHEDULES),
    ]


def _paragraphs(block: str) -> Iterator[Flowable]:
    for text in block.strip().split("\n\n"):
        style = _HEADING if _IS_HEADING.match(text) else _BODY
        yield Paragraph(escape(" ".join(text.split())), style)


def _footer(canvas: Canvas, document: SimpleDocTemplate) -> None:
    canvas.saveState()
    canvas.setFont("Times-Roman", 9)
    canvas.drawCentredString(A4[0] / 2, 13 * mm, f"Page {document.page}")
    canvas.restoreState()


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "sample-contract.pdf")
    write_sample(target)
    print(target)
