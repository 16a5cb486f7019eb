"""Groups: pages whose URLs are one under an edit.  They speak for and against a rule, not pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dedup.urls.edits import Edit, Form, Reading
from dedup.urls.parts import Parts, patterns_for

# Of how many pages, and of how many groups, something is remembered; then nothing new is learned from.
_MOST_PAGES, _MOST_GROUPS = 50_000, 100_000
# Values of one parameter that may be rules of their own, such as start=0.
_MOST_VALUES = 20

# Pages of one place that repeat another one but for an edit, from which on they let a rule be tested.
CROWD = 100

Content = tuple[int, ...]
"""The canonicals that the items of a page are or repeat, in order: what the page shows."""


class Shift(NamedTuple):
    """What a page has made of a group: its members show the same, or for *is_against* they do not.

    *host* is that of the URLs that the edit changes, *key* what is left of them; *url* and *other* are
    two of the members.  It *is_crowd* if so many pages of its place have come to show the same as others
    that their number says something.
    """

    edit: Edit
    host: str
    key: Parts
    content: Content
    url: str
    other: str
    is_against: bool
    is_crowd: bool = False


@dataclass(slots=True)
class _Crowd:
    """How many pages of a place repeat another one, all groups of an edit together."""

    members: int = 0
    is_mixed: bool = False


@dataclass(slots=True)
class _Group:
    """The pages of one key: what the first shows, and whether another one has shown the same, or not."""

    edit: Edit
    host: str
    key: Parts
    content: Content | None = None
    url: str = ""
    is_for: bool = False
    is_against: bool = False

    def add(
        self, url: str, content: Content, crowd: Callable[[_Group], _Crowd], *, is_wall: bool = False
    ) -> Shift | None:
        """Count one more page; return what that changes.  A wall only makes a crowd, or spoils it."""
        if self.content is None:
            self.content, self.url = content, url
        if self.url == url or self.is_against:
            return None
        is_other = content != self.content
        of = crowd(self)
        of.is_mixed = of.is_mixed or is_other
        of.members += 1
        is_crowd = of.members == CROWD and not of.is_mixed
        if is_wall or (self.is_for and not is_other):
            return self._shift(url, is_crowd=True) if is_crowd else None
        self.is_for, self.is_against = True, is_other
        return self._shift(url, is_crowd=is_crowd)

    def _shift(self, url: str, *, is_crowd: bool) -> Shift:
        content = self.content or ()
        return Shift(
            *(self.edit, self.host, self.key, content, url, self.url, self.is_against), is_crowd
        )


@dataclass(slots=True)
class Groups:
    """The groups of one run, by all edits that there can be."""

    _pages: dict[Parts, tuple[str, Content]] = field(default_factory=dict)
    _groups: dict[tuple[Edit, Parts], _Group] = field(default_factory=dict)
    _of_key: dict[Parts, list[_Group]] = field(default_factory=dict)
    _values: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _crowds: dict[tuple[Edit, str, str], _Crowd] = field(default_factory=dict)

    def add(
        self, read: Reading, url: str, content: Content, *, is_wall: bool = False
    ) -> Iterator[Shift]:
        """Count a page of *url*, as *read*; yield what that changes, edit by edit.

        A page that is met again, or that would be one too many, changes nothing.  One that *is_wall*
        stands at so many URLs that it says nothing of other pages.
        """
        parts = read.parts
        if parts in self._pages or len(self._pages) >= _MOST_PAGES:
            return
        if not is_wall:
            self._pages[parts] = (url, content)
        for edit in read.edits:
            group = self._group(edit, edit.applied(parts), parts.host)
            if group and (shift := group.add(url, content, self._crowd, is_wall=is_wall)):
                yield shift
        for group in self._of_key.get(parts, ()):
            if shift := group.add(url, content, self._crowd, is_wall=is_wall):
                yield shift

    def _group(self, edit: Edit, key: Parts, host: str) -> _Group | None:
        """Return the group of *key*; a new one begins with the page of that, if there is one."""
        group = self._groups.get((edit, key))
        if group is None and self._has_room(edit, host):
            group = self._groups[edit, key] = _Group(edit, host, key)
            self._of_key.setdefault(key, []).append(group)
            if bare := self._pages.get(key):
                group.add(*bare, self._crowd)
        return group

    def _crowd(self, group: _Group) -> _Crowd:
        place = group.edit, group.host, patterns_for(group.key)[-1]
        return self._crowds.setdefault(place, _Crowd())

    def _has_room(self, edit: Edit, host: str) -> bool:
        if len(self._groups) >= _MOST_GROUPS:
            return False
        if edit.form is not Form.VALUE:
            return True
        values = self._values.setdefault((host, edit.name), set())
        if edit.value not in values and len(values) < _MOST_VALUES:
            values.add(edit.value)
        return edit.value in values
