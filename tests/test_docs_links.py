"""Every page is reached from the README, and every link leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
HOW_TO = ROOT / "docs" / "how-to"


def prose(page: Path) -> str:
    """A page without its blocks and pieces of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("](", "] ("), text)


def links(page: Path) -> list[tuple[Path, str]]:
    """Where its relative links lead: a path, and a heading or nothing."""
    found = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    near = [link.partition("#") for link in found if "://" not in link]
    return [((page.parent / path).resolve() if path else page, place) for path, _, place in near]


def headings(page: Path) -> set[str]:
    """The names by which links find its headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_its_links_lead_somewhere(page: Path) -> None:
    for target, place in links(page):
        assert target.exists(), target
        assert target.is_relative_to(ROOT), target
        assert not place or place in headings(target), (target, place)


def test_every_page_is_reached_from_the_readme() -> None:
    reached, ahead = set[Path](), [README]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead += [target for target, _ in links(page) if target.suffix == ".md"]
    assert set(PAGES) <= reached


def test_the_readme_names_every_page_beside_it() -> None:
    named = {target for target, _ in links(README)}
    assert set((ROOT / "docs").glob("*.md")) <= named


def test_the_index_of_how_tos_names_them_by_their_titles() -> None:
    shown = re.findall(
        r"^\| \[([^\]]+)\]\(([\w-]+\.md)\) \|", (HOW_TO / "README.md").read_text(), re.MULTILINE
    )
    titles = {page.name: page.read_text().partition("\n")[0] for page in HOW_TO.glob("*.md")}
    del titles["README.md"]
    assert set(titles) == {name for _, name in shown}
    for title, name in shown:
        assert titles[name].startswith(f"# {title}")
