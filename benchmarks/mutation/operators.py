"""Small changes of a module, one at a time: what a tired programmer might have written instead.

Changes are found in the syntax tree and made in the text, so that all else stays as it is.  Left alone are
annotations and type aliases, decorators, assertions, what is formatted into strings, what is logged, and
``if TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

Edit = tuple[int, int, str]
"""The bytes from the first to before the second are replaced by the text."""

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.Pow: (r"\*\*", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
    ast.BitXor: (r"\^", "&"),
}
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
DEFAULTS = {"bool": ("True", "False"), "int": ("0",), "float": ("0.0",), "str": ('""',)}
# The order of their arguments is no mistake that runs, or makes no difference.
KEEP_ORDER = {"isinstance", "issubclass", "getattr", "hasattr", "cast", "TypeVar", "min", "max"}
# What only catches mistakes, or is only shown.
KEEP_KEYWORDS = {"strict", "repr", "stacklevel"}
KEEP_FIELDS = {"annotation", "returns", "decorator_list"}
LOGGERS = {"logger", "log", "logging", "warnings"}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the *module* (a path below the root) at *line*.

    *before* and *after* are the lines it changes, in one; *place* counts the same changes of such lines
    in a module, from 0.
    """

    module: str
    line: int
    operator: str
    before: str
    after: str
    place: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What it is, wherever its line has moved to."""
        return self.module, self.before, self.after, self.place


@dataclass(frozen=True, slots=True)
class Mutant(Change):
    """A change, and the *edit* that makes it."""

    edit: Edit


class Source:
    """The bytes of a module: syntax trees count columns in them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._starts = [0, *accumulate(len(line) for line in data.splitlines(keepends=True))]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where *node* begins and ends."""
        place: ast.expr = node  # type: ignore[assignment]  # whatever has a place
        assert place.end_lineno is not None
        assert place.end_col_offset is not None
        first, last = self._starts[place.lineno - 1], self._starts[place.end_lineno - 1]
        return first + place.col_offset, last + place.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def line(self, place: int) -> int:
        """Return the number of the line of a byte, from 1."""
        return bisect_right(self._starts, place)

    def between(self, left: ast.AST, right: ast.AST, pattern: str, put: str) -> Iterator[Edit]:
        """Yield the edit of what stands between two nodes: an operator, parentheses, no more."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.data[start:end].decode()
        found = re.search(pattern, gap)
        if found and "#" not in gap:
            yield start + found.start(), start + found.end(), put

    def edited(self, edit: Edit) -> bytes:
        start, end, put = edit
        return self.data[:start] + put.encode() + self.data[end:]

    def lines(self, edit: Edit) -> tuple[str, str]:
        """Return the lines that *edit* changes, before and after, each in one line."""
        start, end, put = edit
        first = self._starts[self.line(start) - 1]
        last = self._starts[min(self.line(max(start, end - 1)), len(self._starts) - 1)]
        before = self.data[first:last].decode()
        after = self.data[first:start].decode() + put + self.data[end:last].decode()
        return " ".join(before.split()), " ".join(after.split())


def comparison(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for (left, right), kind in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            yield from source.between(left, right, *COMPARISONS[type(kind)])


def arithmetic(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node.left):
        yield from source.between(node.left, node.right, *ARITHMETIC[type(node.op)])
    if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        pattern, put = ARITHMETIC[type(node.op)]
        yield from source.between(node.target, node.value, f"{pattern}=", f"{put}=")


def boolean(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        swap = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            yield from source.between(left, right, *swap)


def negation(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Leave a `not` out, or put one before a condition that no other operator changes."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start, _ = source.span(node)
        found = re.match(rb"not\s*", source.data[start:])
        assert found
        yield start, start + found.end(), ""
    tests = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
    for test in tests:
        if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr | ast.Subscript):
            yield *source.span(test), f"not ({source.text(test)})"


def constant(node: ast.AST, source: Source) -> Iterator[Edit]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield *source.span(node), str(not node.value)
    elif isinstance(node.value, int | float):
        yield *source.span(node), repr(node.value + 1)
        yield *source.span(node), repr(node.value - 1)


def returned(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Return what says nothing, of the type that is annotated."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    annotation = source.text(node.returns) if node.returns else ""
    puts = DEFAULTS.get(annotation, ("None",))
    for inner in _own_nodes(node):
        if isinstance(inner, ast.Return) and inner.value and not isinstance(inner.value, ast.Constant):
            for put in puts:
                yield *source.span(inner.value), put


def statement(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Leave out a statement that is done for its effect."""
    match node:
        case ast.Expr(ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom()):
            yield *source.span(node), "pass"
        case ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Continue() | ast.Break():
            yield *source.span(node), "pass"
        case ast.Return(None):
            yield *source.span(node), "pass"
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield *source.span(node), "pass"
        case ast.Assign([ast.Name(name)], value) if name in _names(value):
            yield *source.span(node), "pass"


def swapped(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Swap the two arguments of a call."""
    if not isinstance(node, ast.Call) or len(node.args) != 2 or _called(node) in KEEP_ORDER:
        return
    first, second = node.args
    texts = source.text(first), source.text(second)
    if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred) and len({*texts}) == 2:
        middle = source.data[source.span(first)[1] : source.span(second)[0]].decode()
        yield source.span(first)[0], source.span(second)[1], texts[1] + middle + texts[0]


def opposite(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OPPOSITES:
        yield *source.span(node.func), OPPOSITES[node.func.id]


def order(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Sort by another key, or not at all."""
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        if keyword.arg == "key" and _called(node) in {"sorted", "sort", "min", "max"}:
            start, end = source.span(keyword)
            comma = re.match(rb"\s*,\s*", source.data[end:])
            yield start, end + comma.end() if comma else end, ""
    if isinstance(node.func, ast.Name) and node.func.id == "sorted" and not node.keywords:
        yield *source.span(node.func), "list"


def slices(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Slice):
        for end in (node.lower, node.upper):
            if end is not None:
                yield *source.span(end), ""


OPERATORS: dict[str, Callable[[ast.AST, Source], Iterator[Edit]]] = {
    "comparison": comparison,
    "arithmetic": arithmetic,
    "and, or": boolean,
    "not": negation,
    "constant": constant,
    "return": returned,
    "statement": statement,
    "arguments": swapped,
    "opposite": opposite,
    "order": order,
    "slice": slices,
}


def mutants(module: str, data: bytes) -> list[Mutant]:
    """Return all mutants of a module with this text, in the order of their places."""
    source = Source(data)
    found = sorted(
        {
            (edit, name)
            for node in _visited(ast.parse(data))
            for name, operator in OPERATORS.items()
            for edit in operator(node, source)
        }
    )
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for edit, name in found:
        lines = source.lines(edit)
        made.append(Mutant(module, source.line(edit[0]), name, *lines, seen[lines], edit))
        seen[lines] += 1
    return made


def _visited(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name not in KEEP_FIELDS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_left_alone(child):
                    yield from _visited(child)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.keyword(arg=name):
            return name in KEEP_KEYWORDS
        case ast.Call(func=ast.Attribute(value=ast.Name(name))):
            return name in LOGGERS
        case ast.Expr(ast.Call() as call):
            return _is_left_alone(call)
        case ast.Assign([ast.Name(name)], value):
            return name.startswith("__") or _is_alias(name, value)
    return False


def _is_alias(name: str, value: ast.AST) -> bool:
    """Whether a type gets another name: in the form of a class, by what stands in annotations."""
    is_union = isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)
    return name[:1].isupper() and not name.isupper() and (is_union or isinstance(value, ast.Subscript))


def _own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Yield what stands in a function, and not in one inside it."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            left += ast.iter_child_nodes(node)


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _called(call: ast.Call) -> str:
    """Return the last name of what is called."""
    match call.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_text(node: ast.AST) -> bool:
    """Whether *node* is a string as it stands: what follows puts something into it, or after it."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
