"""Which of CUAD's clause categories a clause shows, and where."""

from stagepost.tasks.contract_review.categories import money, rights, term
from stagepost.tasks.contract_review.categories.category import Category, shows
from stagepost.tasks.contract_review.clause_item import TEXT_MOST, ClauseItem
from stagepost.tasks.contract_review.report import CategorySpan, ReviewedClause
from stagepost.tasks.contract_review.terms import is_contents
from stagepost.tasks.contract_review.view import sentences, view

CATEGORIES: tuple[Category, ...] = (*term.CATEGORIES, *money.CATEGORIES, *rights.CATEGORIES)


def categorise(item: ClauseItem) -> ReviewedClause:
    """A clause as the report lists it; each category is marked on the sentences that show it."""
    shown = view(item.text[:TEXT_MOST])
    spans = []
    for sentence in sentences(shown):
        if is_contents(shown.cased[slice(*sentence)]):
            continue
        for category in CATEGORIES:
            if shows(category, shown, sentence):
                start, end = shown.span(*sentence)
                spans.append(
                    CategorySpan(
                        category=category.name, start=item.start + start, end=item.start + end
                    )
                )
    return ReviewedClause(
        number=item.number,
        path=item.path,
        title=item.title,
        kind=item.kind,
        page=item.page,
        start=item.start,
        end=item.end,
        categories=tuple(spans),
    )
