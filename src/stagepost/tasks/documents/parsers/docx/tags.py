"""Elements of WordprocessingML by their local names.

Word writes two namespaces (transitional and strict) for the same elements; the names alone are
unambiguous in the parts read here.
"""

from collections.abc import Iterator

from lxml import etree


def local(element: etree._Element) -> str:
    """The name without its namespace; empty for what is no element, an entity say."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: etree._Element, name: str) -> Iterator[etree._Element]:
    """The direct children of that name."""
    return (child for child in element if local(child) == name)


def only_child(element: etree._Element | None, *names: str) -> etree._Element | None:
    """The first child along a path of names; None where it breaks off."""
    for name in names:
        if element is None:
            return None
        element = next(children(element, name), None)
    return element


def attribute(element: etree._Element | None, name: str = "val") -> str | None:
    """An attribute by its local name; None if it or the element is missing."""
    if element is None:
        return None
    return next(
        (
            str(value)
            for key, value in element.attrib.items()
            if str(key).rpartition("}")[2] == name
        ),
        None,
    )


def number(element: etree._Element | None, name: str = "val") -> int | None:
    """An attribute as a whole number; None if it is missing or none, or absurdly long."""
    value = attribute(element, name)
    if value is None or len(value) > 9:
        return None
    try:
        return int(value)
    except ValueError:
        return None


def is_on(element: etree._Element | None) -> bool:
    """Whether a toggle such as `w:vanish` is set: it is there and not switched off."""
    return element is not None and attribute(element) not in {"0", "false", "off", "none"}
