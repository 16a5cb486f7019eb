"""Which record a page says it shows: the id of schema.org in its JSON-LD or microdata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

# The first of them that a record has names it.  See https://schema.org/Product, /Book and
# /IndividualProduct.
_IDS = (
    *("sku", "gtin", "gtin13", "gtin12", "gtin8", "gtin14"),
    *("isbn", "productID", "serialNumber", "mpn"),
)
_IN_BYTES = tuple(name.encode() for name in _IDS)
# What is about something else, though it may name a product.
_OTHERS = ("Article", "Posting", "Recipe", "Review")
_BESIDE = frozenset(["aside", "nav", "footer"])
# An id of more characters is none; so many elements, nodes, and characters of a script are looked at.
_LONGEST, _MOST, _MOST_NODES, _MOST_CHARACTERS = 100, 20, 200, 1 << 18


def record_of(root: Any, body: bytes) -> str:
    """Return the id of the record that the page in the tree *root*, parsed from *body*, shows.

    "" where it names none, or several: then they are those of a list, or of related products.

    >>> from lxml.html import document_fromstring
    >>> html = '<p itemscope>Shirt, <b itemprop="sku">A-17-M</b></p>'
    >>> record_of(document_fromstring(html), html.encode())
    'sku=A-17-M'
    """
    nodes = [*islice(_nodes(root), _MOST_NODES)]
    if any(_is_other(node) for node in nodes):
        return ""
    found = {named for node in nodes if (named := _of_node(node))}
    if not found and b"itemprop" in body and any(name in body for name in _IN_BYTES):
        found = _of_microdata(root)
    return found.pop() if len(found) == 1 else ""


def _nodes(root: Any) -> Iterator[dict[str, Any]]:
    """Yield what the JSON-LD of a page is about; not what that names, such as related products."""
    for script in root.iter("script"):
        text = script.text or ""
        if "ld+json" not in (script.get("type") or "").lower() or len(text) > _MOST_CHARACTERS:
            continue
        try:
            found = json.loads(text, strict=False)
        except (ValueError, RecursionError):  # others can read it no better
            continue
        for node in _listed(found):
            graph = node.get("@graph") if isinstance(node, dict) else None
            nodes = _listed(graph) if graph else [node]
            yield from (each for each in nodes if isinstance(each, dict))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_other(node: dict[str, Any]) -> bool:
    return any(isinstance(kind, str) and kind.endswith(_OTHERS) for kind in _listed(node.get("@type")))


def _of_node(node: dict[str, Any]) -> str:
    """Return the id of a *node* of JSON-LD, or else of its only offer."""
    offers = _listed(node.get("offers"))
    offer = offers[0] if len(offers) == 1 and isinstance(offers[0], dict) else {}
    found = ((name, _id(one.get(name))) for one in (node, offer) for name in _IDS)
    return next((f"{name}={value}" for name, value in found if value), "")


def _id(value: Any) -> str:
    is_id = isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    text = str(value) if is_id else ""
    return " ".join(text.split()) if len(text) <= _LONGEST else ""


def _of_microdata(root: Any) -> set[str]:
    elements = [
        (name, element)
        for element in root.xpath("//*[@itemprop]")
        for name in islice(element.get("itemprop").split(), _MOST)
        if name in _IDS and not any(one.tag in _BESIDE for one in element.iterancestors())
    ]
    if len(elements) > _MOST:
        return set()
    for wanted in _IDS:
        if found := {_id(_said(element)) for name, element in elements if name == wanted}:
            return {f"{wanted}={value}" if value else "" for value in found}
    return set()


def _said(element: Any) -> str:
    """Return the id that *element* tells, or more characters than one has."""
    if told := element.get("content"):
        return str(told)
    parts, size = [], 0
    for part in element.itertext():
        parts.append(part.strip())
        size += len(parts[-1]) + 1
        if size > _LONGEST:
            return " " * size
    return " ".join(parts)
