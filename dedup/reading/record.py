"""Which record a page says it shows: the ids of schema.org in its JSON-LD and microdata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dedup.model.marks import ID

# See https://schema.org/Product, /Book and /IndividualProduct.
_IDS = (
    *("sku", "gtin", "gtin8", "gtin12", "gtin13", "gtin14"),
    *("mpn", "isbn", "productID", "serialNumber"),
)
# An id of more characters is none; where more elements have ids, they are those of several records.
_LONGEST, _MOST = 100, 20

Ids = tuple[tuple[str, str], ...]


def record_of(root: Any, body: bytes) -> str:
    """Return the ids of the record that the page in the tree *root*, parsed from *body*, shows.

    "" where it names none, or several: then they are those of a list, or of related products.

    >>> from lxml.html import document_fromstring
    >>> html = '<p itemscope>Shirt, <b itemprop="sku">A-17-M</b></p>'
    >>> record_of(document_fromstring(html), html.encode())
    'sku=A-17-M'
    """
    found: set[Ids] = set()
    if b"ld+json" in body:
        found = {ids for node in _nodes(root) if (ids := _ids_of(node))}
    if not found and b"itemprop" in body:
        found = _of_microdata(root)
    return "&".join(f"{name}{ID}{value}" for name, value in found.pop()) if len(found) == 1 else ""


def _nodes(root: Any) -> Iterator[Any]:
    """Yield what the JSON-LD of a page is about; not what that names, such as related products."""
    for script in root.iter("script"):
        if "ld+json" not in (script.get("type") or "").lower():
            continue
        try:
            found = json.loads(script.text or "", strict=False)
        except (ValueError, RecursionError):  # others can read it no better
            continue
        for node in found if isinstance(found, list) else [found]:
            graph = node.get("@graph") if isinstance(node, dict) else None
            yield from graph if isinstance(graph, list) else [node]


def _ids_of(node: Any) -> Ids:
    """Return the ids of a *node* of JSON-LD, or else of its only offer."""
    return _named(node) or (_named(node.get("offers")) if isinstance(node, dict) else ())


def _named(node: Any) -> Ids:
    found = [(name, _id(node[name])) for name in _IDS if name in node] if isinstance(node, dict) else []
    return tuple((name, value) for name, value in found if value)


def _id(value: Any) -> str:
    text = " ".join(str(value).split()) if isinstance(value, str | int) else ""
    return text if len(text) <= _LONGEST else ""


def _of_microdata(root: Any) -> set[Ids]:
    elements = [
        (name, element)
        for element in root.xpath("//*[@itemprop]")
        for name in element.get("itemprop").split()
        if name in _IDS
    ]
    if not 0 < len(elements) <= _MOST:
        return set()
    found: dict[str, set[str]] = {}
    for name, element in elements:
        said = element.get("content") or "".join(element.itertext())
        found.setdefault(name, set()).add(_id(said))
    if any(len(values) > 1 for values in found.values()):
        return set()
    ids = tuple((name, value) for name in _IDS for value in found.get(name, ()) if value)
    return {ids} if ids else set()
