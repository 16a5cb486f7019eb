"""What two URLs of one page may differ by: the forms of rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from dedup.urls.parts import Parts, name_of, parts_of
from dedup.values.printable import printable

# A parameter of a path, for instance ";jsessionid=1".
_PATH_PARAMETER = re.compile(r";([A-Za-z_][\w.-]{0,40})(?:=[^/;]*)?(?=[/;]|\Z)")
_INDEX = re.compile(r"/((?:index|default)\.(?:html?|php|aspx?|jsp|cgi))\Z", re.IGNORECASE)
# Names of other views of a page, as a segment or at the end; any other segment may be what a page is.
_VIEWS = ("amp", "print", "printable", "printer", "printer-friendly", "mobile", "pda", "text")
_VIEW = re.compile(rf"/({'|'.join(_VIEWS)})(?=/|\Z)", re.IGNORECASE)
# Programs that take the name of a page in their path too, and the parameters for it.
_PROGRAM = re.compile(r"/[^/]+\.(?:php|cgi|pl)\Z", re.IGNORECASE)
_TITLES = ("title", "id", "page", "p")
# Parameters that name a version, and those that name it too: the file of gitweb, and its commit.
_REPEATED = {"h": "hb", "hp": "hpb"}
_ALIAS = re.compile(r"(www|m|mobile)\.(?=[^.]+\.)")
_MOST_PARAMETERS = 10
_LONGEST_VALUE = 20


class Form(StrEnum):
    """What a rule is about."""

    PARAMETER = "parameter"
    VALUE = "value"
    PATH_PARAMETER = "path parameter"
    INDEX = "index"
    SLASH = "slash"
    CASE = "case"
    VIEW = "view"
    ALIAS = "alias"
    SCHEME = "scheme"
    TITLE = "title"
    REPEATED = "repeated"


class Edit(NamedTuple):
    """One thing that is taken out of a URL; *name* and *value* say which, "" where there is one only."""

    form: Form
    name: str = ""
    value: str = ""

    def applied(self, parts: Parts) -> Parts:
        """Return *parts* without it: the same where it is not there, and where nothing would be left."""
        return _FORMS[self.form][1](parts, self)

    @property
    def words(self) -> str:
        """What it says does not matter, for people."""
        words = _FORMS[self.form][0]
        return words.format(name=printable(self.name, 60), value=printable(self.value, 60))


def _parameter(parts: Parts, edit: Edit) -> Parts:
    return _with_query(parts, tuple([one for one in parts.query if name_of(one) != edit.name]))


def _with_query(parts: Parts, query: tuple[str, ...]) -> Parts:
    return parts._replace(query=query, separator=parts.separator if len(query) > 1 else "&")


def _value(parts: Parts, edit: Edit) -> Parts:
    piece = f"{edit.name}={edit.value}"
    return _with_query(parts, tuple([one for one in parts.query if one != piece]))


def _path_parameter(parts: Parts, edit: Edit) -> Parts:
    path = _PATH_PARAMETER.sub(lambda found: "" if found[1] == edit.name else found[0], parts.path)
    return parts._replace(path=path)


def _index(parts: Parts, edit: Edit) -> Parts:
    found = _INDEX.search(parts.path)
    named = found and found[1] == edit.name
    return parts._replace(path=parts.path[: found.start() + 1]) if found and named else parts


def _slash(parts: Parts, edit: Edit) -> Parts:  # noqa: ARG001
    return parts._replace(path=parts.path.rstrip("/") or "/")


def _case(parts: Parts, edit: Edit) -> Parts:  # noqa: ARG001
    return parts._replace(path=parts.path.lower())


def _view(parts: Parts, edit: Edit) -> Parts:
    path = _VIEW.sub(lambda found: "" if found[1] == edit.name else found[0], parts.path)
    return parts._replace(path=path or "/")


def _alias(parts: Parts, edit: Edit) -> Parts:
    host = parts.host
    while (found := _ALIAS.match(host)) and found[1] == edit.name:
        host = host[found.end() :]
    return parts._replace(host=host)


def _scheme(parts: Parts, edit: Edit) -> Parts:  # noqa: ARG001
    # The ports of the two schemes are two servers.
    is_plain = parts.scheme == "http" and ":" not in parts.host
    return parts._replace(scheme="https") if is_plain else parts


def _title(parts: Parts, edit: Edit) -> Parts:
    pieces = [piece for piece in parts.query if name_of(piece) == edit.name]
    title = pieces[0].partition("=")[2] if len(pieces) == 1 else ""
    if not (title and _PROGRAM.search(parts.path)) or _PROGRAM.search(f"/{title}"):
        return parts
    return _parameter(parts, edit)._replace(path=f"{parts.path}/{title}")


def _repeated(parts: Parts, edit: Edit) -> Parts:
    names = map(name_of, parts.query)
    return _parameter(parts, edit) if edit.value in names else parts


# What is said of each form, and what it does.
_FORMS: dict[Form, tuple[str, Callable[[Parts, Edit], Parts]]] = {
    Form.PARAMETER: ("the parameter {name} does not matter", _parameter),
    Form.VALUE: ("{name}={value} says the same as no {name}", _value),
    Form.PATH_PARAMETER: ("the path parameter ;{name} does not matter", _path_parameter),
    Form.INDEX: ("{name} is the page of its folder", _index),
    Form.SLASH: ("a slash at the end does not matter", _slash),
    Form.CASE: ("capital letters in the path do not matter", _case),
    Form.VIEW: ("/{name} is another view of the page without it", _view),
    Form.ALIAS: ("the host with {name}. in front shows the same pages", _alias),
    Form.SCHEME: ("http and https show the same pages", _scheme),
    Form.TITLE: ("{name}= says the same as a name at the end of the path", _title),
    Form.REPEATED: ("{name} says nothing beside {value}", _repeated),
}
_SLASH, _CASE, _SCHEME = Edit(Form.SLASH), Edit(Form.CASE), Edit(Form.SCHEME)


class Reading(NamedTuple):
    """A URL in *parts*, and all edits that change it."""

    parts: Parts
    edits: list[Edit]


def reading_of(url: str) -> Reading | None:
    """Return what rules read in *url*, None for one that no rule is for."""
    parts = parts_of(url)
    if parts is None:
        return None
    return Reading(parts, edits_of(parts))


def edits_of(parts: Parts) -> list[Edit]:
    """Return all edits that change *parts*, each once.

    >>> from dedup.urls.parts import parts_of
    >>> [edit.form.value for edit in edits_of(parts_of("http://a.example/b/?id=1"))]
    ['parameter', 'value', 'slash', 'scheme']
    """
    edits = list(_edits_of_query(parts.query)) if parts.query else []
    edits += _edits_of_path(parts.path)
    if parts.query and _PROGRAM.search(parts.path):
        titles = (Edit(Form.TITLE, name) for name in dict.fromkeys(map(name_of, parts.query)))
        edits += [edit for edit in titles if edit.name in _TITLES and edit.applied(parts) is not parts]
    if parts.host[0] in "wm" and (found := _ALIAS.match(parts.host)):
        edits.append(Edit(Form.ALIAS, found[1]))
    if parts.scheme == "http" and ":" not in parts.host:
        edits.append(_SCHEME)
    return edits


def _edits_of_query(query: tuple[str, ...]) -> Iterator[Edit]:
    for name in list(dict.fromkeys(map(name_of, query)))[:_MOST_PARAMETERS]:
        yield Edit(Form.PARAMETER, name)
    names = set(map(name_of, query))
    for name, other in _REPEATED.items():
        if name in names and other in names:
            yield Edit(Form.REPEATED, name, other)
    for piece in list(dict.fromkeys(query))[:_MOST_PARAMETERS]:
        name, sign, value = piece.partition("=")
        if sign and len(value) <= _LONGEST_VALUE:
            yield Edit(Form.VALUE, name, value)


def _edits_of_path(path: str) -> Iterator[Edit]:
    if ";" in path:
        for name in dict.fromkeys(_PATH_PARAMETER.findall(path)):
            yield Edit(Form.PATH_PARAMETER, name)
    if path[-1] == "/":
        if path.strip("/"):
            yield _SLASH
    elif found := _INDEX.search(path):
        yield Edit(Form.INDEX, found[1])
    if found := _VIEW.search(path):
        for name in dict.fromkeys(_VIEW.findall(path)):
            yield Edit(Form.VIEW, name)
    if path != path.lower():
        yield _CASE
