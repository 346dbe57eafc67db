"""The HTML report: complete, self-contained, and nothing of the contract is markup."""

from html.parser import HTMLParser

import pytest

from stagepost.tasks.contract_review import render_html
from stagepost.tasks.contract_review.page import rows
from tasks.contract_review.drafting import contract, draft, review


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.style = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(given["id"] or "")
        for name in ("href", "src", "action", "data"):
            if given.get(name):
                self.links.append(given[name] or "")
        assert not [name for name in given if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "style":
            self.style = self.style or data
        self.text.append(data)


def read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    return reader


@pytest.mark.parametrize("name", ["software", "clean-sale"])
def test_the_page_needs_nothing_else(name: str) -> None:
    drafted = contract(name)
    page = read(render_html(review(drafted), drafted[0]))
    assert "script" not in page.tags
    assert all(link.startswith("#") for link in page.links)
    assert "url(" not in page.style
    assert "@import" not in page.style
    assert "@media print" in page.style
    assert "prefers-color-scheme: dark" in page.style


def test_every_link_leads_to_its_finding_beside_the_text() -> None:
    drafted = contract("software")
    report = review(drafted)
    page = read(render_html(report, drafted[0]))
    assert {f"#{finding.id}" for finding in report.findings} == set(page.links)
    assert {finding.id for finding in report.findings} <= set(page.ids)
    words = "".join(page.text)
    for finding in report.findings:
        assert finding.suggestion in words
    assert report.disclaimer in words


def test_markup_in_a_contract_is_shown_as_text() -> None:
    evil = '<script>alert(1)</script><img src=x onerror="alert(2)">{{ 7 * 7 }}&amp;'
    text = (
        f'{evil} AGREEMENT between Ash Ltd (the "Supplier") and Elm Ltd (the "Customer").\n'
        f"1. {evil} The Customer's liability under this Agreement shall be unlimited {evil}.\n"
        f"{evil}\n"
    )
    document, clauses = draft(text)
    document = document.model_copy(update={"name": f"{evil}.txt"})
    html = render_html(review((document, clauses)), document)
    page = read(html)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert "".join(page.text).count("<script>alert(1)</script>") >= 4
    assert "{{ 7 * 7 }}" in "".join(page.text)


def test_the_whole_contract_is_on_the_page() -> None:
    document, clauses = contract("lease")
    report = review((document, clauses))
    shown = "".join(piece.text for row in rows(report, document) for piece in row.pieces)
    assert "".join(shown.split()) == "".join(document.text.split())


def test_overlapping_findings_do_not_lose_or_double_text() -> None:
    drafted = draft(
        'AGREEMENT between Ash Ltd (the "Supplier") and Elm Ltd (the "Customer").\n'
        "1. The Supplier may terminate this Agreement at any time for convenience upon two (3)"
        " days' notice to the Customer.\n"
    )
    report = review(drafted)
    assert len(report.findings) + len(report.checks) >= 3
    row = rows(report, drafted[0])[1]
    text = "".join(piece.text for piece in row.pieces)
    assert text == drafted[0].text[row.clause.start : row.clause.end]
    assert {piece.level for piece in row.pieces} >= {"HIGH"}


def test_wrapped_lines_are_joined_but_items_are_kept() -> None:
    wrapped = "The Supplier will deliver the goods that are listed in the order to the\nplace"
    text = f"1. {wrapped} named there.\n(a) by day;\n(b) by night.\n" * 3
    document, clauses = draft(text)
    shown = "".join(
        piece.text for row in rows(review((document, clauses)), document) for piece in row.pieces
    )
    assert "to the place named" in shown
    assert shown.count("\n") == 0 or "\nplace" not in shown


def test_the_page_says_so_when_nothing_was_found() -> None:
    drafted = contract("clean-sale")
    words = "".join(read(render_html(review(drafted), drafted[0])).text)
    assert words.count("未发现，但不代表不存在。") == 3


def test_a_short_clause_is_not_set_like_a_heading_but_titles_are() -> None:
    text = (
        'AGREEMENT between Ash Ltd (the "Supplier") and Elm Ltd (the "Customer").\n'
        "2. Payment\n2.1 If [***] or\n2.2 The Customer pays the fees on time\n"
        "2.3 Right of Renewal\nThe term may be renewed once.\n"
    )
    drafted = draft(text)
    made = {row.clause.number: row for row in rows(review(drafted), drafted[0])}
    assert made["2"].heading
    assert not made["2.1"].heading
    assert not made["2.2"].heading
    assert not any(piece.strong for piece in made["2.2"].pieces)


def test_a_title_above_its_clause_is_strong() -> None:
    text = (
        "AGREEMENT\n3.2. Right of Renewal\nThe Publishers may renew the term once, and tell the"
        " other party so in good time.\n"
    )
    document, clauses = draft(text)
    titled = [one.model_copy(update={"title": "Right of Renewal"}) for one in clauses]
    page = rows(review((document, tuple(titled))), document)
    strong = [piece.text for row in page for piece in row.pieces if piece.strong]
    assert strong == ["3.2. Right of Renewal"]


def test_warnings_stand_before_the_summary_and_findings_name_clause_and_page() -> None:
    text = "Words about nothing.\n1. The Supplier's liability shall be unlimited.\n" * 9
    drafted = draft(text)
    words = "".join(read(render_html(review(drafted), drafted[0])).text)
    assert 0 < words.index("could not be made out") < words.index("Summary")
    assert "· clause 1" in words


def test_a_cut_quote_shows_that_it_is_cut() -> None:
    text = "AGREEMENT\n1. " + "extraordinarily " * 9 + "long is [insert term] " + "indeed " * 30
    drafted = draft(text)
    html = "".join(read(render_html(review(drafted), drafted[0])).text)
    assert "“… extraordinarily" in html
    assert "indeed …”" in html
