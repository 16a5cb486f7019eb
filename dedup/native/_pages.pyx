# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""From a tree to the text of a page; from a text to its tokens, and to all that a fingerprint has of them; the
search for near fingerprints.

What tags and characters are, and what changes with its neighbours, is asked of Python.  Of libxml2's trees
the structs are read, nothing is changed.  Every buffer has room for the worst case before it is written
to, and nothing runs longer than in proportion to its input, whoever has crafted that.
"""

from os import urandom

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memset, strcmp, strlen
from lxml.includes cimport etreepublic as etree
from lxml.includes cimport tree

etree.import_lxml__etree()

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t) nogil
    object PyUnicode_FromKindAndData(int, const void*, Py_ssize_t)
    void PyUnicode_WRITE(int, void*, Py_ssize_t, uint32_t) nogil
    bint PyUnicode_IS_ASCII(object)

cdef extern from "sources.h":
    const char* SOURCES_DIGEST

# ---- Memory: that of the last page is kept for the next one, if it is not much

cdef enum:
    TEXT, FALLBACKS, LINES, STACK, REGIONS, CHARACTERS, BYTES, TOKENS, HANS, JOINED, JOINED_TOKENS, TERMS
    PLACES, NUMBERS, HASHES, OPEN, BUFFERS

cdef size_t MOST_KEPT = 8 << 20

@cython.final
cdef class _Scratch:
    """The memory of one page that is under way: calls of Python may let in another one."""

    cdef char* data[BUFFERS]
    cdef size_t sizes[BUFFERS]

    def __dealloc__(self):
        for number in range(BUFFERS):
            free(self.data[number])

    cdef void* room(self, int number, size_t count, size_t size) except NULL:
        """Return room for *count* things of *size* bytes, and a few more; what is in it stays."""
        cdef size_t wanted = count * size + 16
        if count > <size_t>(1 << 40) // size:
            raise MemoryError
        if self.sizes[number] < wanted:
            wanted = max(wanted, 2 * self.sizes[number], <size_t>4096)
            data = realloc(self.data[number], wanted)
            if data == NULL:
                raise MemoryError
            self.data[number], self.sizes[number] = <char*>data, wanted
        return self.data[number]

cdef _Scratch _spare = None

cdef _Scratch _scratch():
    global _spare
    found, _spare = _spare or _Scratch(), None
    return found

cdef int _give_back(_Scratch scratch) except -1:
    global _spare
    cdef size_t size = 0
    for number in range(BUFFERS):
        size += scratch.sizes[number]
    if size <= MOST_KEPT:
        _spare = scratch
    return 0

# ---- Characters: in blocks of 256, which Python describes when one of them is first met

cpdef enum:
    # What a character is in its normal form: it parts words; it is of a word, or a sign of programs; it is
    # of a script without spaces; or it is left out of words.
    PARTS, LETTER, SIGN, HAN, KANA, UNSPACED, POINT
    SAYS = 8  # together with one of these: it says something, as letters and digits do

cpdef enum:
    IS_SPACE = 1, IS_UNSPACED = 2, IS_MARK = 4, IS_LETTER = 8, IS_HAN = 16, IS_STRANGE = 32

cdef enum:
    BLOCKS = 0x1100
    MOST_EXPANDED = 1 << 15
    JOINER = 0x200D
    LONGEST = 1 << 27  # texts are counted with 32 bits

cpdef enum:
    MOST_MARKS = 200  # of so many characters one is looked at: without a mark among them there is no flood of marks
    MOST_CHARACTERS = 16  # of a token; what is longer is several

ctypedef struct Character:
    uint32_t code  # kind << 24 | small character; of no or several ones, where in `_expanded` they begin
    uint8_t flags, length

cdef Character* _blocks[BLOCKS]
cdef uint32_t _expanded[MOST_EXPANDED]
cdef uint32_t _expanded_count = 0
cdef object _describe = None, _prepare = None, _words_in = None
cdef dict _tag_bits = {}, _role_states = {}

def take_characters(describe, prepare):
    """Take what is to be known of characters: `dedup.reading.tokens.described`, and what brings a text into
    normal form where one of its characters `IS_STRANGE`: it may change those beside it."""
    global _describe, _prepare
    _describe, _prepare = describe, prepare

def take_tags(tags, roles, words_in):
    """Take the bits of the tags that are not plain, the states of roles, and what reads a document."""
    global _words_in
    _tag_bits.update(tags)
    _role_states.update(roles)
    _words_in = words_in

cdef Character* _make_block(uint32_t number) except NULL:
    global _expanded_count
    cdef list described = _describe(number)
    cdef Character* block = <Character*>malloc(256 * sizeof(Character))
    if block == NULL:
        raise MemoryError
    # Nothing from here on runs Python code, which could let another thread in.
    for place in range(256):
        flags, codes = described[place]
        if len(codes) != 1 and _expanded_count + len(codes) > MOST_EXPANDED:
            flags |= IS_STRANGE
            codes = (0,)
        block[place].flags, block[place].length = flags, len(codes)
        block[place].code = codes[0] if len(codes) == 1 else _expanded_count
        if len(codes) > 1:
            for code in codes:
                _expanded[_expanded_count] = code
                _expanded_count += 1
    _blocks[number] = block
    return block

cdef inline Character* _character(uint32_t code) except NULL:
    cdef Character* block = _blocks[code >> 8]
    if block == NULL:
        block = _make_block(code >> 8)
    return block + (code & 255)

cdef inline size_t put_utf8(uint8_t* out, uint32_t code) noexcept nogil:
    cdef size_t size = 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF), place
    if size == 1:
        out[0] = code
        return 1
    for place in range(size - 1, 0, -1):
        out[place] = 0x80 | (code & 63)
        code >>= 6
    out[0] = (0xF00 >> size & 0xFF) | code
    return size

cdef str _decoded(const char* text, size_t length):
    return PyUnicode_DecodeUTF8(text, length, b"replace")

cdef inline size_t space_at(const uint8_t* text) noexcept nogil:
    """Return how many bytes the white space has that *text* in UTF-8 begins with, 0 for none."""
    if text[0] < 0x80:
        return text[0] <= 32 and (text[0] == 32 or text[0] >= 28 or 9 <= text[0] <= 13)
    if text[0] == 0xC2:
        return 2 * (text[1] == 0x85 or text[1] == 0xA0)
    if text[0] == 0xE2 and text[1] == 0x80:
        return 3 * (text[2] <= 0x8A or text[2] == 0xA8 or text[2] == 0xA9 or text[2] == 0xAF)
    if text[0] in (0xE1, 0xE2, 0xE3):
        return 3 * (memcmp(text, b"\xe1\x9a\x80", 3) == 0 or memcmp(text, b"\xe2\x81\x9f", 3) == 0
                    or memcmp(text, b"\xe3\x80\x80", 3) == 0)
    return 0

cdef size_t _squeezed(const uint8_t* text, size_t length, uint8_t* out) noexcept nogil:
    """Write *text* with single spaces for its white space, and return how much that is."""
    cdef size_t place = 0, used = 0, space
    while place < length:
        space = space_at(text + place)
        if not space:
            out[used] = text[place]
            used += 1
            place += 1
            continue
        place += space
        if used and out[used - 1] != 32:
            out[used] = 32
            used += 1
    return used - (used > 0 and out[used - 1] == 32)

def spaced(str text not None):
    """Return *text* in UTF-8, its white space as single spaces."""
    cdef bytes data = text.encode("utf-8", "surrogatepass"), found = PyBytes_FromStringAndSize(NULL, len(data))
    cdef char* out = PyBytes_AS_STRING(found)
    return found[:_squeezed(<const uint8_t*>PyBytes_AS_STRING(data), len(data), <uint8_t*>out)]

# ---- The walk

# Bits of tags: three of a state, then the others.  Of an element and those around it the highest state counts.
cpdef enum:
    VISIBLE, OF_TEXT, ASIDE, FALLBACK, HIDDEN
    STATE = 7, INLINE = 8, LINKS = 16, TITLE = 32, LINK = 64, HEADER = 128, HEAD = 256, DOCUMENT = 512
    TEMPLATE = 1024, DRAWING = 2048, LINE = 4096, PICTURE = 8192, CONTROL = 16384

cdef enum:
    LONG_NAME = 40  # a shorter text of a picture is the name of it
    BREAK = 0x1E, LINE_BREAK = 0x1D
    MOST_PLACES = 20000
    STEPS = 3

cdef dict _places = {}

ctypedef struct Frame:
    uint8_t state
    uint16_t bits

ctypedef struct Block:  # an element around a line, with its tag
    tree.xmlNode* node
    void* tag

cdef inline bint _is_text(tree.xmlNode* node) noexcept nogil:
    return node.type == tree.XML_TEXT_NODE or node.type == tree.XML_CDATA_SECTION_NODE

cdef str _attribute(tree.xmlNode* node, const char* name):
    """Return the value of an attribute, None for none."""
    cdef tree.xmlAttr* attribute = node.properties
    cdef tree.xmlNode* child
    while attribute != NULL and (attribute.ns != NULL or strcmp(<const char*>attribute.name, name)):
        attribute = attribute.next
    if attribute == NULL:
        return None
    child = attribute.children
    if child == NULL:
        return ""
    if child.type == tree.XML_TEXT_NODE and child.next == NULL and child.content != NULL:
        return _decoded(<const char*>child.content, strlen(<const char*>child.content))
    return etree.attributeValueFromNsName(node, NULL, <const tree.xmlChar*>name)

cdef bint _has_content(tree.xmlNode* node) noexcept nogil:
    cdef tree.xmlNode* child = node.children
    while child != NULL:
        if not _is_text(child) or (child.content != NULL and child.content[0]):
            return True
        child = child.next
    return False

cdef tree.xmlNode* _next_root(tree.xmlNode* root) noexcept nogil:
    """Return the next of the roots that libxml2 makes of what stands after a first ``</html>``."""
    cdef tree.xmlNode* node = root.next
    if root.parent != NULL and root.parent.type == tree.XML_ELEMENT_NODE:
        return NULL
    while node != NULL and node.type != tree.XML_ELEMENT_NODE:
        node = node.next
    return node

@cython.final
cdef class Walk:
    """One walk over the tree under *root* and over what follows it; never recurses, changes nothing.

    *text* is what is visible, with a break where a line may begin or end; *main* is what of it is not aside,
    None for all; *fallbacks* is shown in its place; the rest is that of `dedup.reading.markup.Reading`.
    A *step* makes a part of a place of a tag, a class and an id.  Without *has_controls* what menus are
    made of is hidden, and *aside* is what is aside.
    """

    cdef _Scratch scratch
    cdef bint has_controls
    cdef size_t used[2]  # of the buffers TEXT and FALLBACKS
    cdef size_t regions, line_at, said_used
    cdef dict names
    cdef list steps  # for each element around the next line its part of a place, None where nobody has asked
    cdef object step
    cdef readonly list tags, depths, links, alternates, told, places, asides
    cdef readonly str title, canonical, language, text, main, aside, fallbacks, said

    def __cinit__(self, etree._Element root, *, step=None, bint has_controls=True):
        cdef tree.xmlNode* top = NULL if root is None else root._c_node
        self.scratch, self.has_controls, self.step, self.names = _scratch(), has_controls, step, {}
        self.tags, self.depths, self.links, self.alternates, self.told = [], [], [], [], []
        self.places, self.asides, self.steps = [], [], []
        self.title = self.canonical = self.language = ""
        for number in (TEXT, FALLBACKS, STACK):
            self.scratch.room(number, 4096, 1)
        while top != NULL:
            # One with nothing in it is no structure: Scrapy makes one for a page without any element.
            if top.type == tree.XML_ELEMENT_NODE and _has_content(top):
                self.language = self.language or _attribute(top, b"lang") or ""
                self.walk(top)
                self.steps.clear()
            top = _next_root(top)
        if len(_places) > MOST_PLACES:
            _places.clear()
        self.text = _decoded(self.scratch.data[TEXT], self.used[TEXT])
        self.fallbacks = _decoded(self.scratch.data[FALLBACKS], self.used[FALLBACKS])
        self.said = _decoded(self.scratch.data[LINES], self.said_used - 1) if self.places else ""
        self.aside = None if has_controls else self.parts(True)
        self.main = self.parts(False) if has_controls and self.regions else None
        _give_back(self.scratch)

    cdef int append(self, int state, const char* text, size_t length) except -1:
        cdef int number = FALLBACKS if state == FALLBACK else TEXT
        cdef size_t used = self.used[number]
        if used + length + 16 > self.scratch.sizes[number]:
            self.scratch.room(number, used + length, 1)
        memcpy(self.scratch.data[number] + used, text, length)
        self.used[number] += length
        return 0

    cdef int walk(self, tree.xmlNode* top) except -1:
        cdef tree.xmlNode* node = top
        cdef tree.xmlNode* child
        cdef const void* met[256]
        cdef void* met_name[256]
        cdef int met_bits[256]
        cdef int state, bits, around = VISIBLE
        cdef size_t slot, depth = 0, aside_start = 0
        cdef bint is_read
        cdef Frame* stack = <Frame*>self.scratch.data[STACK]
        cdef size_t* region
        memset(met, 0, sizeof(met))
        while True:
            # An element begins.
            slot = (<size_t>node.name >> 3) & 255
            if node.ns != NULL or met[slot] != <const void*>node.name:
                name = etree.namespacedName(node)
                name, bits = self.names.setdefault(name, (name, _tag_bits.get(name, 0)))
                met[slot] = <const void*>node.name if node.ns == NULL else NULL
                met_name[slot], met_bits[slot] = <void*>name, bits
            bits = met_bits[slot]
            self.tags.append(<object>met_name[slot])
            self.depths.append(depth)
            if (depth + 2) * sizeof(Frame) > self.scratch.sizes[STACK]:
                stack = <Frame*>self.scratch.room(STACK, depth + 2, sizeof(Frame))
            state = stack[depth - 1].state if depth else VISIBLE
            is_read = False
            if state != HIDDEN:
                around = state
                own = self.state_of(node, bits, state, stack[depth - 1].bits if depth else 0)
                if own > state:
                    state = own
                    if own == ASIDE:
                        aside_start = self.used[TEXT]
                if state != HIDDEN and not bits & INLINE:
                    self.part(node, met_name[slot], bits, state, around)
                if bits & DOCUMENT and state != HIDDEN:
                    words = _words_in(_attribute(node, b"srcdoc") or "", etree.textOf(node) or "").encode()
                    self.append(state, words, len(words))
                    is_read = True
            if bits & (LINKS | TITLE | LINK | PICTURE):
                self.note(node, bits)
            stack[depth].state, stack[depth].bits = state, bits
            depth += 1
            child = node.children
            while is_read and child != NULL and _is_text(child):
                child = child.next
            # What follows until the next element begins.
            while child == NULL or child.type != tree.XML_ELEMENT_NODE:
                if child != NULL:
                    if _is_text(child) and child.content != NULL and stack[depth - 1].state != HIDDEN:
                        self.append(stack[depth - 1].state, <const char*>child.content,
                                    strlen(<const char*>child.content))
                    child = child.next
                    continue
                # An element ends.
                depth -= 1
                state = stack[depth - 1].state if depth else VISIBLE
                if stack[depth].state == ASIDE and state < ASIDE:
                    region = <size_t*>self.scratch.room(REGIONS, 2 * self.regions + 2, sizeof(size_t))
                    region[2 * self.regions], region[2 * self.regions + 1] = aside_start, self.used[TEXT]
                    self.regions += 1
                if node == top:
                    return 0 if self.step is None else self.end_line(stack[depth].state)
                if stack[depth].state != HIDDEN and not stack[depth].bits & INLINE:
                    self.part(NULL, NULL, stack[depth].bits, stack[depth].state, stack[depth].state)
                child = node.next
                node = node.parent
            node = child

    cdef int state_of(self, tree.xmlNode* node, int bits, int state, int around) except -1:
        cdef int own = bits & STATE
        if bits & CONTROL and not self.has_controls:
            own = VISIBLE if bits & LINKS and _attribute(node, b"href") is None else HIDDEN
        elif bits & HEADER and state == OF_TEXT:  # of a text
            own = VISIBLE
        elif bits & TITLE:
            own = FALLBACK if around & DRAWING else HIDDEN if around & HEAD else VISIBLE
        elif bits & TEMPLATE and _attribute(node, b"shadowrootmode") is not None:
            own = VISIBLE
        # Nothing inside a line is a region.
        if not bits & INLINE and own < ASIDE and node.properties != NULL:
            role = _attribute(node, b"role")
            if role:
                for one in role.lower().split():
                    own = max(own, <int>_role_states.get(one, VISIBLE))
        return own

    cdef int note(self, tree.xmlNode* node, int bits) except -1:
        if bits & TITLE:
            self.title = self.title or etree.textOf(node) or ""
        elif bits & LINKS:
            if target := _attribute(node, b"href"):
                self.links.append(target)
        elif bits & PICTURE:
            for said in (_attribute(node, b"alt"), _attribute(node, b"title")):
                if said and len(said) >= LONG_NAME:
                    self.told.append(said)
        else:
            kinds = (_attribute(node, b"rel") or "").lower().split()
            if "canonical" in kinds:
                self.canonical = self.canonical or _attribute(node, b"href") or ""
            if "alternate" in kinds and (language := _attribute(node, b"hreflang")):
                self.alternates.append((language, _attribute(node, b"href") or ""))
        return 0

    cdef int part(self, tree.xmlNode* node, void* tag, int bits, int state, int around) except -1:
        """Begin the block *node*, or without one end the last; *around* is the state before it."""
        cdef Block* block
        self.append(state, b"\x1d" if bits & LINE else b"\x1e", 1)
        if self.step is not None and state != FALLBACK:
            self.end_line(around)
            if node != NULL:
                block = <Block*>self.scratch.room(OPEN, len(self.steps) + 1, sizeof(Block)) + len(self.steps)
                block.node, block.tag = node, tag
                self.steps.append(None)
            else:
                self.steps.pop()
        return 0

    cdef int end_line(self, int state) except -1:
        cdef Block* block
        cdef Py_ssize_t number
        cdef uint8_t* out
        cdef size_t used
        out = <uint8_t*>self.scratch.room(LINES, self.said_used + self.used[TEXT] - self.line_at, 1) + self.said_used
        used = _squeezed(<uint8_t*>self.scratch.data[TEXT] + self.line_at, self.used[TEXT] - self.line_at, out)
        self.line_at = self.used[TEXT]
        if not used:
            return 0
        out[used], self.said_used = 10, self.said_used + used + 1
        for number in range(max(0, len(self.steps) - STEPS), len(self.steps)):
            if self.steps[number] is None:
                block = <Block*>self.scratch.data[OPEN] + number
                around = <object>block.tag
                if block.node.properties != NULL:
                    # None tells it from three steps, which are texts, too.
                    around = (around, _attribute(block.node, b"class") or "",
                              _attribute(block.node, b"id") or "", None)
                if (step := _places.get(around)) is None:
                    step = _places[around] = self.step(*(around[:3] if block.node.properties != NULL else (around,)))
                self.steps[number] = step
        around = tuple(self.steps[-STEPS:])
        if (place := _places.get(around)) is None:
            place = _places[around] = ">".join(around)
        self.places.append(place)
        self.asides.append(state == ASIDE)
        return 0

    cdef str parts(self, bint is_aside):
        """Return what is in the regions that are aside, with breaks between them, or what is in none."""
        cdef const size_t* region = <size_t*>self.scratch.data[REGIONS]
        cdef const char* text = self.scratch.data[TEXT]
        cdef size_t number, start, end, begin = 0
        cdef list found = []
        for number in range(self.regions):
            start, end = region[2 * number], region[2 * number + 1]
            found.append(text[start:end] if is_aside else text[begin:start])
            begin = end
        if not is_aside:
            found.append(text[begin:self.used[TEXT]])
        return (b"\x1e" if is_aside else b"").join(found).decode("utf-8", "replace")

cpdef double rough_words(str text) except -1:
    """Return about how many words *text* has; in scripts without spaces two characters are one."""
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t place
    cdef uint8_t flags
    cdef long long words = 0, unspaced = 0
    cdef bint is_inside = False
    for place in range(PyUnicode_GET_LENGTH(text)):
        flags = _character(PyUnicode_READ(kind, data, place)).flags
        words += (not flags & IS_SPACE) & (not is_inside)  # a branch could not be foreseen
        is_inside = not flags & IS_SPACE
        unspaced += flags & IS_UNSPACED != 0
    return words + unspaced / 2.0

def lines(str text not None):
    """Return *text* with one space for white space, and one line break for breaks."""
    cdef _Scratch scratch = _scratch()
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), place, used = 0, gap = 0
    cdef void* out = scratch.room(LINES, length, kind)
    cdef uint32_t code, wanted = 0
    for place in range(length):
        code = PyUnicode_READ(kind, data, place)
        if _character(code).flags & IS_SPACE:
            gap = gap if wanted else place
            if code == BREAK or code == LINE_BREAK:
                wanted = 10
            elif not wanted:
                wanted = 32
            continue
        if wanted and used and not (code > 0xFF and _is_wrapped(kind, data, gap, place)):
            PyUnicode_WRITE(kind, out, used, wanted)
            used += 1
        wanted = 0
        PyUnicode_WRITE(kind, out, used, code)
        used += 1
    _give_back(scratch)
    return PyUnicode_FromKindAndData(kind, out, used)

cdef bint _is_wrapped(int kind, void* data, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Return whether two Han characters have only the end of a line in the source between them, or a `br`."""
    cdef Py_ssize_t place
    cdef uint32_t code
    cdef size_t line_breaks = 0
    cdef bint has_end = False
    for place in range(begin, end):
        code = PyUnicode_READ(kind, data, place)
        if code == BREAK:
            return False
        line_breaks += code == LINE_BREAK
        has_end |= code == 10
    if line_breaks != 2 and (line_breaks or not has_end):
        return False
    before = _character(PyUnicode_READ(kind, data, begin - 1)).flags
    return before & _character(PyUnicode_READ(kind, data, end)).flags & IS_HAN != 0

# ---- Hashes: those of `dedup.model.hashes`

cdef inline uint64_t mixed(uint64_t hash) noexcept nogil:
    hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCDULL
    hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53ULL
    return hash ^ (hash >> 33)

cdef inline uint64_t with_next(uint64_t hash, uint64_t next) noexcept nogil:
    return mixed(hash) * 0x9E3779B97F4A7C15ULL + next

cdef inline uint64_t turned(uint64_t value, int bits) noexcept nogil:
    return (value << bits) | (value >> (64 - bits))

cdef inline uint64_t loaded(const uint8_t* bytes, size_t length) noexcept nogil:
    cdef uint64_t whole = 0
    cdef uint32_t low, high
    if length >= 8:
        memcpy(&whole, bytes, 8)
        return whole
    if length < 4:
        return (bytes[0] | <uint32_t>bytes[length // 2] << 8 * (length // 2)
                | <uint32_t>bytes[length - 1] << 8 * (length - 1))
    memcpy(&low, bytes, 4)
    memcpy(&high, bytes + length - 4, 4)
    return low | <uint64_t>high << 8 * (length - 4)

cdef uint64_t murmur3(const uint8_t* bytes, size_t length) noexcept nogil:
    """Return the first 64 bits of MurmurHash3 x64 128 (A. Appleby, 2011; in the public domain)."""
    cdef uint64_t c1 = 0x87C37B91114253D5ULL, c2 = 0x4CF5AD432745937FULL, h1 = 0, h2 = 0
    cdef size_t rest = length & 15, place
    for place in range(0, length - rest, 16):
        h1 ^= turned(loaded(bytes + place, 8) * c1, 31) * c2
        h1 = (turned(h1, 27) + h2) * 5 + 0x52DCE729
        h2 ^= turned(loaded(bytes + place + 8, 8) * c2, 33) * c1
        h2 = (turned(h2, 31) + h1) * 5 + 0x38495AB5
    if rest > 8:
        h2 ^= turned(loaded(bytes + length - rest + 8, rest - 8) * c2, 33) * c1
    if rest:
        h1 ^= turned(loaded(bytes + length - rest, min(rest, <size_t>8)) * c1, 31) * c2
    h1 ^= length
    h2 ^= length
    h1 += h2
    h2 += h1
    return mixed(h1) + mixed(h2)

# ---- SimHash (M. Charikar, 2002): `dedup.prints.literature.fold` of 64 bits

# Sums of 32 bits, two in one number, are faster; they go to those of 64 before one could overflow.
ctypedef struct Votes:
    uint64_t some[32]
    int64_t votes[64]
    int64_t total
    uint32_t pending

cdef uint64_t BYTE_MASKS[256][4]

cdef void init_masks() noexcept:
    cdef int byte, bit
    for byte in range(256):
        for bit in range(8):
            if byte >> bit & 1:
                BYTE_MASKS[byte][bit // 2] |= <uint64_t>0xFFFFFFFF << 32 * (bit & 1)

init_masks()

cdef void count_votes(Votes* votes) noexcept nogil:
    cdef int bit
    for bit in range(64):
        votes.votes[bit] += <uint32_t>(votes.some[bit // 2] >> 32 * (bit & 1))
    memset(votes.some, 0, sizeof(votes.some))
    votes.pending = 0

cdef inline void vote(Votes* votes, uint64_t hash, int32_t weight) noexcept nogil:
    cdef uint64_t both = <uint64_t>weight << 32 | <uint32_t>weight
    cdef const uint64_t* masks
    cdef int byte, two
    votes.pending += <uint32_t>weight
    if votes.pending > 0x3FFFFFFF:
        count_votes(votes)
        votes.pending = <uint32_t>weight
    votes.total += weight
    for byte in range(8):
        masks = BYTE_MASKS[hash >> 8 * byte & 255]
        for two in range(4):
            votes.some[4 * byte + two] += masks[two] & both

cdef uint64_t simhash_of(Votes* votes) noexcept nogil:
    cdef uint64_t simhash = 0
    cdef int bit
    count_votes(votes)
    for bit in range(64):
        simhash |= <uint64_t>(2 * votes.votes[bit] > votes.total) << bit
    return simhash

# ---- Tokens: what they are is told in `dedup.reading.tokens`

cpdef enum:
    # Characters in a token of Japanese, and of other scripts without spaces but Chinese.
    JAPANESE_NGRAM = 2
    UNSPACED_NGRAM = 3
    MUTE = 2  # a control sign at the beginning of a line of which no pairs are taken

cdef enum:
    FROM_SPACED, FROM_HAN, FROM_KANA, FROM_UNSPACED, RUN_OF_HAN

ctypedef struct Token:
    uint32_t end  # in the bytes of the tokens, which are parted by a space
    uint8_t origin, begins_line, is_muted

ctypedef struct Tokens:
    uint8_t* bytes
    size_t used
    Token* tokens
    size_t count
    uint32_t* han  # the runs of Han characters, parted by a line break
    size_t han_used
    bint says
    uint8_t begins_line, is_muted

cdef inline uint32_t kind_in(uint32_t character) noexcept nogil:
    return character >> 24 & 7

cdef inline uint32_t code_in(uint32_t character) noexcept nogil:
    return character & 0xFFFFFF

cdef inline bint is_digit(uint32_t character) noexcept nogil:
    return <uint32_t>(code_in(character) - 48) < 10

cdef inline bint is_in_word(uint32_t character) noexcept nogil:
    return kind_in(character) in (LETTER, SIGN, POINT)

cdef inline bint begins_number(const uint32_t* characters, size_t place, size_t length) noexcept nogil:
    """Return whether a minus or a decimal point is before a digit, and behind no word."""
    cdef uint32_t code = code_in(characters[place])
    return ((code == 0x2D or code == 0x2E or 0x2010 <= code <= 0x2013) and place + 1 < length
            and is_digit(characters[place + 1]) and not (place and is_in_word(characters[place - 1])))

cdef inline bint ends_code(const uint32_t* characters, size_t begin, size_t end) noexcept nogil:
    """Return whether three digits or more are before *end*, and no year: with a hyphen they are a code."""
    cdef size_t place = end
    while place > begin and is_digit(characters[place - 1]):
        place -= 1
    return end - place > 2 and (
        end - place != 4 or 10 * code_in(characters[place]) + code_in(characters[place + 1]) - 11 * 48 not in (19, 20))

cdef inline void note_token(Tokens* found, uint8_t origin) noexcept nogil:
    cdef Token* token = found.tokens + found.count
    token.end, token.origin = found.used, origin
    token.begins_line, token.is_muted = found.begins_line, found.is_muted
    found.count += 1
    found.begins_line = False

cdef inline void end_token(Tokens* found, uint8_t origin) noexcept nogil:
    note_token(found, origin)
    found.bytes[found.used] = 32
    found.used += 1

cdef size_t cut_word(const uint32_t* characters, size_t place, size_t length, Tokens* found) noexcept nogil:
    """Cut the word at *place*, and return where it ends; of one letter of ASCII the case is kept."""
    cdef size_t begin = place, written = 0
    cdef uint32_t character, code = 0
    cdef bint is_code = False
    while place < length:
        character = characters[place]
        if not is_in_word(character) and place > begin and not (
            code_in(character) in (0x2E, 0x2C, 0x3A, 0x2D) and is_digit(characters[place - 1])
            and place + 1 < length and is_digit(characters[place + 1])
            and (is_code or code_in(character) != 0x2D or ends_code(characters, begin, place))
        ):
            break
        is_code = place > begin and (code_in(character) == 0x2D or (is_code and is_digit(character)))
        place += 1
        if kind_in(character) == POINT:
            continue
        found.says |= character >> 27
        if written and written % MOST_CHARACTERS == 0:
            end_token(found, FROM_SPACED)
        code = code_in(character)
        found.used += put_utf8(found.bytes + found.used, code + 32 if 65 <= code <= 90 else code)
        written += 1
    if written == 1 and code < 0x80:
        found.bytes[found.used - 1] = code
    if written:
        end_token(found, FROM_SPACED)
    return place

cdef size_t cut_run(const uint32_t* characters, size_t place, size_t length, Tokens* found) noexcept nogil:
    """Cut a run of a script without spaces, and return where it ends; one of Han is left to a dictionary."""
    cdef size_t begin = place, start, size = JAPANESE_NGRAM
    cdef bint is_han = kind_in(characters[place]) != UNSPACED, has_kana = False
    cdef uint8_t origin
    while place < length and (kind_in(characters[place]) in (HAN, KANA) if is_han
                              else kind_in(characters[place]) == UNSPACED):
        has_kana |= kind_in(characters[place]) == KANA
        found.says |= characters[place] >> 27
        place += 1
    if is_han and not has_kana:
        if found.han_used:
            found.han[found.han_used] = 10
            found.han_used += 1
        for start in range(begin, place):
            found.han[found.han_used] = code_in(characters[start])
            found.han_used += 1
        note_token(found, RUN_OF_HAN)
        return place
    size = min(JAPANESE_NGRAM if is_han else UNSPACED_NGRAM, place - begin)
    for begin in range(begin, place - size + 1):
        origin = FROM_HAN if is_han else FROM_UNSPACED
        for start in range(begin, begin + size):
            found.used += put_utf8(found.bytes + found.used, code_in(characters[start]))
            if kind_in(characters[start]) == KANA:
                origin = FROM_KANA
        end_token(found, origin)
    return place

cdef void cut(const uint32_t* characters, size_t length, Tokens* found) noexcept nogil:
    """Cut normalized characters.  There is room for 13 bytes and 1 token for each, and 2 characters of Han."""
    cdef size_t place = 0
    while place < length:
        if is_in_word(characters[place]) or begins_number(characters, place, length):
            place = cut_word(characters, place, length, found)
        elif kind_in(characters[place]) != PARTS:
            place = cut_run(characters, place, length, found)
        else:
            if code_in(characters[place]) == 10:
                found.begins_line, found.is_muted = True, False
            elif code_in(characters[place]) == MUTE:
                found.is_muted = True
            place += 1

cdef size_t _normalized(str text, _Scratch scratch, bint is_normal=False) except? 0:
    """Write the characters of *text* in normal form, and return how many there are."""
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), place
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef uint32_t code, number = 0
    cdef uint32_t* out
    cdef size_t used = 0, extra
    cdef Character* block = _character(0)
    cdef Character* character
    if length > LONGEST:
        raise ValueError(f"a text of more than {LONGEST:,} characters has no tokens")
    out = <uint32_t*>scratch.room(CHARACTERS, length, 4)
    if PyUnicode_IS_ASCII(text):
        for place in range(length):
            out[place] = block[(<uint8_t*>data)[place]].code
        return length
    for place in range(length):
        code = PyUnicode_READ(kind, data, place)
        if code >> 8 != number:
            number = code >> 8
            block = _character(code & ~255)
        character = block + (code & 255)
        if not is_normal and character.flags & (IS_STRANGE | IS_MARK) and (
            character.flags & IS_STRANGE or (place and place % MOST_MARKS == 0)
        ):
            return _normalized(_prepare(text), scratch, True)
        if character.length == 1:
            out[used] = character.code
            used += 1
        elif character.length:
            if (used + character.length + (length - place)) * 4 > scratch.sizes[CHARACTERS]:
                out = <uint32_t*>scratch.room(CHARACTERS, used + character.length + (length - place), 8)
            for extra in range(character.length):
                out[used] = _expanded[character.code + extra]
                used += 1
            if used > LONGEST:
                raise ValueError(f"a text of more than {LONGEST:,} characters has no tokens")
        elif code == JOINER and (is_normal or not (
            (place and _character(PyUnicode_READ(kind, data, place - 1)).flags & IS_LETTER)
            or (place + 1 < length and _character(PyUnicode_READ(kind, data, place + 1)).flags & IS_LETTER)
        )):
            out[used] = code  # it parts what it stands between
            used += 1
    return used

cdef Tokens _tokens(str text, segment, _Scratch scratch) except *:
    cdef Tokens found
    cdef size_t length = _normalized(text, scratch)
    memset(&found, 0, sizeof(found))
    found.bytes = <uint8_t*>scratch.room(BYTES, length, 13)
    found.tokens = <Token*>scratch.room(TOKENS, length, sizeof(Token))
    found.han = <uint32_t*>scratch.room(HANS, length, 8)
    found.begins_line = True
    cut(<const uint32_t*>scratch.data[CHARACTERS], length, &found)
    if not found.says:  # lines, stars and the bars between pictures
        found.count = found.used = 0
    elif found.han_used:
        return _joined(&found, segment, scratch)
    return found

cdef Tokens _joined(Tokens* found, segment, _Scratch scratch) except *:
    cdef list words = list(segment(PyUnicode_FromKindAndData(4, found.han, found.han_used)))
    cdef size_t word = 0, token, begin = 0, length, place, most = found.used
    cdef Tokens joined
    cdef str one
    for one in words:
        most += 4 * len(one) + 1
    memset(&joined, 0, sizeof(joined))
    joined.bytes = <uint8_t*>scratch.room(JOINED, most, 1)
    joined.tokens = <Token*>scratch.room(JOINED_TOKENS, found.count + len(words), sizeof(Token))
    for token in range(found.count):
        joined.begins_line |= found.tokens[token].begins_line
        joined.is_muted = found.tokens[token].is_muted
        if found.tokens[token].origin != RUN_OF_HAN:
            length = found.tokens[token].end - begin
            memcpy(joined.bytes + joined.used, found.bytes + begin, length)
            begin = found.tokens[token].end + 1
            joined.used += length
            end_token(&joined, found.tokens[token].origin)
            continue
        while word < <size_t>len(words):
            one = words[word]
            word += 1
            if one == "\n":
                break
            for place in range(<size_t>len(one)):
                joined.used += put_utf8(joined.bytes + joined.used, <uint32_t>one[place])
            end_token(&joined, FROM_HAN)
    return joined

def tokens(str text not None, segment):
    """Return the tokens of *text*; *segment* cuts runs of Han characters, parted by line breaks, into words."""
    cdef _Scratch scratch = _scratch()
    cdef Tokens found = _tokens(text, segment, scratch)
    words = _decoded(<char*>found.bytes, found.used).split(" ")
    words.pop()  # what is behind the last space
    _give_back(scratch)
    return words

# ---- Content

ctypedef struct Term:  # a token that is different from all others, and how often it occurs
    uint64_t hash
    uint32_t count
    uint8_t origin, kind, titled  # which word of the title it is, from 1

cpdef enum:
    IN_NO_PAIR, NUMBER, DAY, YEAR, CODE, WORD  # what a token is in a pair of them

cdef enum:
    MOST_COUNTS = 4096, BINS = 256, MOST_TITLED = 256

# 1 + ln of a count, from numpy: logarithms may differ in their last bit.
cdef double DAMPED[MOST_COUNTS]
for _number, _value in enumerate((1 + np.log(np.arange(1, MOST_COUNTS))).tolist(), 1):
    DAMPED[_number] = _value
cdef uint64_t SALT = int.from_bytes(urandom(8))  # nobody outside knows it: hashes that are crafted fill no table

cdef inline bint is_decimal(uint8_t byte) noexcept nogil:
    return <uint8_t>(byte - 48) < 10

cdef inline bint is_letter(uint8_t byte) noexcept nogil:
    return <uint8_t>((byte | 32) - 97) < 26

cdef inline bint is_sign(uint8_t byte) noexcept nogil:
    return not (is_decimal(byte) or byte == 95 or is_letter(byte))

cdef uint8_t kind_of_token(const uint8_t* token, size_t length) noexcept nogil:
    cdef size_t place, digits = 0, hexadecimals = 0, colons = 0, points = 0, begin = 0, letters = 0, number_end
    cdef size_t point = length
    cdef int day
    for place in range(length):
        digits += is_decimal(token[place])
        hexadecimals += <uint8_t>(token[place] - 97) < 6
        colons += token[place] == 58
        if token[place] == 46:
            points += 1 < place - point < 4 and is_decimal(token[place - 1]) and is_decimal(token[point + 1])
            point = place
    if not digits:
        return WORD
    if digits == 4 and length == 4 and (memcmp(token, b"19", 2) == 0 or memcmp(token, b"20", 2) == 0):
        return YEAR
    if hexadecimals and length >= 6 and digits + hexadecimals == length:
        return IN_NO_PAIR
    while is_sign(token[begin]):
        begin += 1
    place = begin
    while place < length and (is_decimal(token[place]) or token[place] in (0x2E, 0x2C, 0x3A)):
        place += 1
    if place == begin:
        return CODE
    number_end = place
    while letters < 2 and place < length and is_letter(token[place]):
        place += 1
        letters += 1
    while place < length and is_sign(token[place]):
        place += 1
    if place < length:
        return CODE
    if colons:
        return IN_NO_PAIR
    day = (token[0] - 48) * 10 + token[1] - 48 if digits == 2 else token[0] - 48
    # Nothing but one or two digits, and none or two letters.
    if digits <= 2 and number_end == digits and not begin and length == digits + letters and letters != 1:
        return DAY if 0 < day < 32 else NUMBER
    # Between points a number has three digits; a date or a version has fewer.  No counter has seven, an id has.
    return CODE if points or digits == length >= 7 else NUMBER

def kind_of(str token not None):
    """Return what *token* is in a pair of them: clocks and hexadecimal identifiers are others on each visit.

    >>> [kind_of(token) for token in "sea gw8704 31.5.2026 9783130427 2026 31st 1.200.500 #639 12:30pm 3fa9c0".split()]
    [5, 4, 4, 4, 3, 2, 1, 1, 0, 0]
    """
    data = token.encode("utf-8", "replace")
    return kind_of_token(data, len(data))

cdef size_t terms_of(const Tokens* found, uint32_t* places, size_t size, Term* terms, uint32_t* numbers) noexcept nogil:
    """Find the different terms, and return how many there are; *numbers* receives that of each token.

    *places* has a power of two of entries, at least twice the number of tokens, all of them 0.
    """
    cdef size_t used = 0, token, place
    cdef uint32_t begin = 0, length, number
    cdef uint64_t hash
    cdef Term* term
    for token in range(found.count):
        length = found.tokens[token].end - begin
        hash = murmur3(found.bytes + begin, length)
        place = mixed(hash ^ SALT) & (size - 1)
        while places[place] and terms[places[place] - 1].hash != hash:
            place = (place + 1) & (size - 1)
        number = places[place]
        if not number:
            term = terms + used
            term.hash, term.count, term.origin = hash, 0, found.tokens[token].origin
            term.kind = kind_of_token(found.bytes + begin, length)
            used += 1
            number = places[place] = used
        terms[number - 1].count += 1
        numbers[token] = number - 1
        begin = found.tokens[token].end + 1
    return used

cdef void sort_bytes(uint64_t* values, uint64_t* other, size_t count, int first) noexcept nogil:
    """Sort by the bytes from *first* on, 0 or 4, the lowest of them first; *other* has room for as many."""
    cdef uint32_t counts[8][256], total, next
    cdef uint64_t* spare
    cdef size_t place
    cdef int byte, digit
    memset(counts, 0, sizeof(counts))
    for place in range(count):
        for byte in range(first, 8):
            counts[byte][values[place] >> 8 * byte & 255] += 1
    for byte in range(first, 8):
        total = 0
        for digit in range(256):
            next = counts[byte][digit]
            counts[byte][digit] = total
            total += next
        for place in range(count):
            digit = values[place] >> 8 * byte & 255
            other[counts[byte][digit]] = values[place]
            counts[byte][digit] += 1
        spare = values
        values = other
        other = spare

cdef void sort(uint64_t* values, uint64_t* other, size_t count) noexcept nogil:
    """Sort hashes, in the same time whatever they are: the upper half orders nearly all that are different."""
    cdef size_t place
    sort_bytes(values, other, count, 4)
    for place in range(1, count):
        if values[place - 1] > values[place]:
            sort_bytes(values, other, count, 0)
            return

cdef size_t shingles_of(const uint64_t* hashes, size_t count, size_t size, uint64_t* shingles) noexcept nogil:
    """Write the hash of each run of *size* hashes; return how many there are."""
    cdef size_t place, offset
    cdef uint64_t hash
    if count < size:
        return 0
    for place in range(count - size + 1):
        hash = hashes[place]
        for offset in range(1, size):
            hash = with_next(hash, hashes[place + offset])
        shingles[place] = mixed(hash)
    return count - size + 1

cdef void sketch_of(const uint64_t* shingles, size_t count, uint8_t* sketch) noexcept nogil:
    cdef size_t place, bin
    memset(sketch, 0, BINS)
    for place in range(count):
        bin = shingles[place] >> 56
        if not sketch[bin]:
            sketch[bin] = shingles[place] % 255 + 1

cdef bytes sample_of(const uint64_t* hashes, size_t count, uint32_t one_in, size_t most, size_t* different):
    """Return the upper halves of at most *most* of those *hashes*, in order, whose last bits are 0 for one in
    so many, each once; and count how many *different* ones there are."""
    cdef size_t place, used = 0
    cdef bytes sample = PyBytes_FromStringAndSize(NULL, 4 * min(most, count))
    cdef uint32_t* out = <uint32_t*>PyBytes_AS_STRING(sample)
    cdef uint32_t value
    different[0] = 0
    for place in range(count):
        if place and hashes[place] == hashes[place - 1]:
            continue
        different[0] += 1
        value = hashes[place] >> 32
        if not (hashes[place] & (one_in - 1) or used == most or (used and out[used - 1] == value)):
            out[used] = value
            used += 1
    return sample[:4 * used]

# What is in a pair: a number, or else a date or a code, or words alone.
cpdef enum:
    OF_WORDS, OF_NUMBERS, OF_CODES

cdef inline uint64_t pair_of(uint64_t hash, uint64_t what) noexcept nogil:
    """Return a hash in the upper half, where its last two bits tell *what* is in it."""
    return mixed(hash) >> 34 << 34 | what << 32

cdef void take_titled(uint32_t pair, const Term* one, const Term* other, const uint32_t[::1] own,
                      uint32_t* lowest) noexcept nogil:
    cdef Py_ssize_t place
    for place in range(own.shape[0]):
        if own[place] == pair:
            lowest += MOST_TITLED
            break
    # What is no word of the title has the first place.
    lowest[one.titled] = min(lowest[one.titled], pair)
    lowest[other.titled] = min(lowest[other.titled], pair)

cdef size_t pairs_of(const uint64_t* hashes, const Token* tokens, const Term* terms, const uint32_t* numbers,
                     size_t count, uint64_t* pairs, const uint32_t[::1] own, uint32_t* lowest) noexcept nogil:
    """Write the pairs of words beside each other, two for each token at most; return how many there are.

    Each word of the title gets the *lowest* of its pairs, those that are the title's *own* apart.
    What is alone on its line is a pair with itself.  Two numbers and the token between them are one, too,
    and a word, a day and a year: a date if the first or the last is a year, and none another number.
    """
    cdef size_t place, used = 0, other
    cdef uint8_t kind, next, third
    cdef bint is_last, is_date
    cdef uint64_t hash, what
    for place in range(count):
        kind = terms[numbers[place]].kind
        is_last = place + 1 == count or tokens[place + 1].begins_line
        other = place if is_last else place + 1
        next = terms[numbers[other]].kind
        if kind == IN_NO_PAIR or next == IN_NO_PAIR or (is_last and not tokens[place].begins_line):
            continue
        if tokens[place].is_muted:
            continue
        hash = with_next(hashes[place], hashes[other])
        what = OF_NUMBERS if kind < CODE or next < CODE else OF_CODES if kind == CODE or next == CODE else OF_WORDS
        pairs[used] = pair_of(hash, what)
        if terms[numbers[place]].titled or terms[numbers[other]].titled:
            take_titled(pairs[used] >> 32, &terms[numbers[place]], &terms[numbers[other]], own, lowest)
        used += 1
        if is_last or place + 2 >= count or tokens[place + 2].begins_line:
            continue
        third = terms[numbers[place + 2]].kind
        if third == IN_NO_PAIR or third >= CODE or (kind >= CODE and (next != DAY or third != YEAR)):
            continue
        is_date = (kind == YEAR or third == YEAR) and kind != NUMBER and next != NUMBER and third != NUMBER
        pairs[used] = pair_of(with_next(hash, hashes[place + 2]), OF_CODES if is_date else OF_NUMBERS)
        used += 1
    return used

@cython.final
cdef class Content:
    """What folds texts by the recipe.

    *segment* cuts runs of Han, see `tokens`; *roots* returns the roots of the inverse document frequencies of
    words of Han, given their hashes.  Of shingles of so many tokens one in *one_in* (a power of two) is sampled,
    and at most so many are kept, and so many pairs.
    """

    cdef object _segment, _roots
    cdef uint32_t _one_in
    cdef size_t _size, _most_sampled, _most_pairs

    def __init__(self, segment, roots, *, size_t shingle, uint32_t one_in, size_t most_sampled, size_t most_pairs):
        self._segment, self._roots, self._size, self._one_in = segment, roots, shingle, one_in
        self._most_sampled, self._most_pairs = most_sampled, most_pairs

    def __call__(self, str text not None, const uint64_t[::1] title not None, const uint32_t[::1] own not None):
        """Return (simhash, sketch, number of tokens, of those with kana and of other scripts without spaces,
        number of different shingles, sample, lowest pairs of words of the title, pairs) of a *text*.

        *title* has the hashes of at most 255 words.  First come the pairs that are not the title's *own*."""
        if title.shape[0] >= MOST_TITLED:
            raise ValueError("a title has too many words")
        cdef _Scratch scratch = _scratch()
        cdef Tokens found = _tokens(text, self._segment, scratch)
        cdef size_t count = found.count, size = 64, shingles_count, place, different, term_count, paired, parts[4]
        cdef Py_ssize_t word
        cdef uint32_t lowest[2 * MOST_TITLED]
        cdef Votes votes
        cdef uint8_t sketch[BINS]
        while size < 2 * count:
            size *= 2
        cdef uint32_t* places = <uint32_t*>scratch.room(PLACES, size, 4)
        cdef Term* terms = <Term*>scratch.room(TERMS, count, sizeof(Term))
        cdef uint32_t* numbers = <uint32_t*>scratch.room(NUMBERS, count, 4)
        cdef uint64_t* hashes = <uint64_t*>scratch.room(HASHES, count, 16)
        cdef uint64_t* pairs = <uint64_t*>scratch.room(CHARACTERS, 2 * count, 16)
        cdef uint64_t* shingles = <uint64_t*>scratch.room(HANS, count, 8)
        memset(places, 0, size * 4)
        memset(&votes, 0, sizeof(votes))
        memset(parts, 0, sizeof(parts))
        term_count = terms_of(&found, places, size, terms, numbers)
        for place in range(term_count):
            parts[terms[place].origin] += terms[place].count
            terms[place].titled = 0
            for word in range(title.shape[0]):
                if terms[place].hash == title[word]:
                    terms[place].titled = word + 1
        self._vote(&votes, terms, term_count)
        for place in range(count):
            hashes[place] = terms[numbers[place]].hash
        memset(lowest, 255, sizeof(lowest))
        paired = pairs_of(hashes, found.tokens, terms, numbers, count, pairs, own, lowest)
        sort(pairs, pairs + 2 * count, paired)
        shingles_count = shingles_of(hashes, count, self._size, shingles)
        sort(shingles, hashes, shingles_count)
        sketch_of(shingles, shingles_count, sketch)
        of_pairs = sample_of(pairs, paired, 1, self._most_pairs, &different)
        sample = sample_of(shingles, shingles_count, self._one_in, self._most_sampled, &different)
        _give_back(scratch)
        return (simhash_of(&votes), sketch[:BINS], count, parts[FROM_KANA], parts[FROM_UNSPACED], different, sample,
                (<const char*>(lowest + 1))[:4 * title.shape[0]]
                + (<const char*>(lowest + MOST_TITLED + 1))[:4 * title.shape[0]], of_pairs)

    cdef int _vote(self, Votes* votes, const Term* terms, size_t count) except -1:
        """Let *terms* vote with (1 + ln tf) * sqrt(idf), in whole multiples of 1/256, so that sums are exact."""
        cdef size_t place, han = 0
        cdef double weight
        cdef const double[::1] roots
        hashes = bytearray()
        for place in range(count):
            if terms[place].origin == FROM_HAN or terms[place].origin == FROM_KANA:
                hashes += (<const char*>&terms[place].hash)[:8]
        if hashes:
            roots = self._roots(np.frombuffer(hashes, np.uint64))
        for place in range(count):
            weight = DAMPED[terms[place].count] if terms[place].count < MOST_COUNTS else 1 + np.log(terms[place].count)
            if terms[place].origin == FROM_HAN or terms[place].origin == FROM_KANA:
                weight *= roots[han]
                han += 1
            vote(votes, terms[place].hash, <int32_t>rint(256 * weight))
        return 0

# ---- Structure: runs of tags, each weighed by where it is nearest to the root

ctypedef struct Run:
    uint64_t run
    int32_t depth  # 1 more than it is, 0 for an empty place

def structure(tuple tags not None, tuple depths not None, const int32_t[::1] weights not None, size_t run):
    """Return the simhash of the runs of *run* *tags*, all of fewer being one, each weighed by the *depths* of
    its outermost tag, where that is least; what lies deeper than there are *weights* has the last of them."""
    cdef size_t count = len(tags), place, start, offset, size = 64, slot
    cdef int32_t deepest = weights.shape[0] - 1, depth
    cdef void* met[256]
    cdef uint64_t met_hash[256], one
    cdef Votes votes
    cdef dict known = {}
    cdef _Scratch scratch = _scratch()
    if <size_t>len(depths) != count or deepest < 0:
        raise ValueError("there are not as many depths as tags")
    memset(met, 0, sizeof(met))
    memset(&votes, 0, sizeof(votes))
    while size < 2 * count:
        size *= 2
    cdef uint64_t* hashes = <uint64_t*>scratch.room(HASHES, count, 8)
    cdef int32_t* levels = <int32_t*>scratch.room(NUMBERS, count, 4)
    cdef Run* places = <Run*>scratch.room(PLACES, size, sizeof(Run))
    memset(places, 0, size * sizeof(Run))
    for place in range(count):
        tag = tags[place]
        slot = (<size_t><void*>tag >> 4) & 255
        if met[slot] != <void*>tag:
            found = known.get(tag)
            if found is None:
                name = tag.encode("utf-8", "surrogatepass")
                found = known[tag] = murmur3(<const uint8_t*>PyBytes_AS_STRING(name), len(name))
            met[slot] = <void*>tag
            met_hash[slot] = found
        hashes[place] = met_hash[slot]
        depth = depths[place]
        if depth < 0:
            raise ValueError(f"a depth ({depth}) must be 0 or more")
        levels[place] = min(depth, deepest)
    run = min(run, count)
    for start in range(count - run + 1 if count else 0):
        one, depth = hashes[start], levels[start]
        for offset in range(1, run):
            one = with_next(one, hashes[start + offset])
            depth = min(depth, levels[start + offset])
        one = mixed(one)
        place = mixed(one ^ SALT) & (size - 1)
        while places[place].depth and places[place].run != one:
            place = (place + 1) & (size - 1)
        if not places[place].depth or depth + 1 < places[place].depth:
            places[place].depth = depth + 1
        places[place].run = one
    for place in range(size):
        if places[place].depth:
            vote(&votes, places[place].run, weights[places[place].depth - 1])
    _give_back(scratch)
    return simhash_of(&votes)

# ---- The search for near simhashes, and the comparison of sketches and samples

cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__)
    /* Compiled twice, the processor chooses: not all have an instruction that counts bits. */
    #define FOR_EACH_PROCESSOR __attribute__((target_clones("popcnt", "default")))
    #else
    #define FOR_EACH_PROCESSOR
    #endif

    #if defined(__GNUC__) || defined(__clang__)
    #define count_bits(number) __builtin_popcountll(number)
    #else
    static int count_bits(uint64_t number) {
        number -= number >> 1 & 0x5555555555555555u;
        number = (number & 0x3333333333333333u) + (number >> 2 & 0x3333333333333333u);
        number = (number + (number >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        return (int)(number * 0x0101010101010101u >> 56);
    }
    #endif

    /* Writes those of *count* simhashes that are near, and returns how many; *data* may be at any
       address, and there is room for all. */
    FOR_EACH_PROCESSOR
    static size_t near_of(const char* data, size_t count, uint64_t simhash, int most, uint64_t* out) {
        size_t found = 0, place;
        uint64_t one;
        for (place = 0; place < count; place++) {
            memcpy(&one, data + 8 * place, 8);
            out[found] = one;
            found += (int)count_bits(one ^ simhash) <= most;
        }
        return found;
    }
    """
    size_t near_of(const char*, size_t, uint64_t, int, uint64_t*) noexcept nogil

# A simhash has no more blocks than this, and keys are looked up within so many bits.
cdef enum:
    MOST_BLOCKS = 8, LARGEST_RADIUS = 2
cdef double CHANCE = 1 / 255.0  # how often two different shingles have the same byte in a sketch

cdef Py_ssize_t look(_Scratch scratch, Py_ssize_t found, const uint64_t* simhashes, Py_ssize_t count, uint64_t simhash,
                     int most) except -1:
    """Write those of *count* simhashes that are near behind what was *found*; return how many there are now."""
    if count:
        scratch.room(HASHES, found + count, sizeof(uint64_t))
        found += near_of(<const char*>simhashes, count, simhash, most, <uint64_t*>scratch.data[HASHES] + found)
    return found

cdef int _order(const void* a, const void* b) noexcept nogil:
    cdef uint64_t one = (<const uint64_t*>a)[0], other = (<const uint64_t*>b)[0]
    return (one > other) - (one < other)

cdef class Blocks:
    """Simhashes in blocks (`dedup.index.search`); raises `ValueError` for what are no blocks."""

    cdef list _kept
    cdef const uint64_t* _simhashes[MOST_BLOCKS]
    cdef const int64_t* _starts[MOST_BLOCKS]
    cdef int _shifts[MOST_BLOCKS], _widths[MOST_BLOCKS], _count
    cdef Py_ssize_t _size

    def __init__(self, list blocks not None):
        cdef const uint64_t[::1] simhashes
        cdef const int64_t[::1] starts
        cdef Py_ssize_t place
        self._kept, self._count, self._size = [], 0, 0
        if len(blocks) > MOST_BLOCKS:
            raise ValueError("too many blocks")
        for simhashes, starts, shift, width in blocks:
            if self._kept and simhashes.shape[0] != self._size:
                raise ValueError("blocks of several sizes")
            if not (simhashes.shape[0] and 0 <= shift < 64 and 0 < width <= 16):
                raise ValueError("no block")
            if starts.shape[0] != (1 << width) + 1 or starts[0] or starts[1 << width] != simhashes.shape[0]:
                raise ValueError("keys of another block")
            for place in range(1 << width):
                if starts[place] > starts[place + 1]:
                    raise ValueError("keys in no order")
            self._kept.append((simhashes, starts))
            self._simhashes[self._count], self._starts[self._count] = &simhashes[0], &starts[0]
            self._shifts[self._count], self._widths[self._count] = shift, width
            self._size = simhashes.shape[0]
            self._count += 1

    def near(self, const uint64_t[::1] tail, size_t size, uint64_t simhash, int most):
        """Return the simhashes of the blocks and the first *size* of *tail* within *most* bits, packed: in
        order, each once."""
        cdef _Scratch scratch = _scratch()
        cdef int block, first, second, radius
        cdef int64_t key
        cdef Py_ssize_t found = 0, place, kept = 0
        cdef bint is_wide = self._count and most >= (LARGEST_RADIUS + 1) * self._count
        cdef uint64_t* simhashes
        if size > <size_t>tail.shape[0]:
            raise ValueError("the tail is shorter")
        found = look(scratch, found, &tail[0], size, simhash, most)
        if is_wide:
            found = look(scratch, found, self._simhashes[0], self._size, simhash, most)
        for block in range(0 if is_wide else self._count):
            radius = most // self._count - (block > most % self._count)
            if most < 0 or radius < 0:
                continue
            key = <int64_t>(simhash >> self._shifts[block] & ((1 << self._widths[block]) - 1))
            found = self._look(scratch, found, block, key, simhash, most)
            for first in range(self._widths[block] if radius > 0 else 0):
                found = self._look(scratch, found, block, key ^ 1 << first, simhash, most)
                for second in range(first if radius > 1 else 0):
                    found = self._look(scratch, found, block, key ^ 1 << first ^ 1 << second, simhash, most)
        simhashes = <uint64_t*>scratch.data[HASHES]
        if found > 1:
            qsort(simhashes, found, sizeof(uint64_t), _order)
        for place in range(found):
            if not place or simhashes[place] != simhashes[place - 1]:
                simhashes[kept] = simhashes[place]
                kept += 1
        packed = PyBytes_FromStringAndSize(<char*>simhashes, kept * sizeof(uint64_t))
        _give_back(scratch)
        return packed

    cdef Py_ssize_t _look(self, _Scratch scratch, Py_ssize_t found, int block, int64_t key, uint64_t simhash,
                          int most) except -1:
        cdef int64_t begin = self._starts[block][key], end = self._starts[block][key + 1]
        return look(scratch, found, self._simhashes[block] + begin, end - begin, simhash, most)

def similarity(bytes a not None, bytes b not None):
    """Return the estimated Jaccard similarity (0 to 1) of the shingles behind two sketches, 0 for none.

    The standard deviation is .031 on full sketches.  Raises `ValueError` for sketches of two sizes.
    """
    cdef const uint8_t* one = <const uint8_t*>PyBytes_AS_STRING(a)
    cdef const uint8_t* other = <const uint8_t*>PyBytes_AS_STRING(b)
    cdef int either = 0, both = 0  # in how many bins there is a value, or the same
    cdef Py_ssize_t bin, bins = len(a)
    if bins != len(b):
        raise ValueError(f"sketches have {bins} and {len(b)} bytes")
    for bin in range(bins):
        either += (one[bin] | other[bin]) != 0
        both += (one[bin] == other[bin]) & (one[bin] != 0)
    cdef double alike = (both / <double>max(either, 1) - CHANCE) / (1 - CHANCE)
    return max(alike, 0.0)

def lost_hashes(bytes page not None, bytes kept not None, Py_ssize_t most):
    """Return how many hashes of *page* can be compared with *kept*, and how many of those it lacks.

    A sample of *most* hashes says nothing beyond its end.  Raises `ValueError` for no samples.
    """
    cdef const uint32_t* one = <const uint32_t*>PyBytes_AS_STRING(page)
    cdef const uint32_t* other = <const uint32_t*>PyBytes_AS_STRING(kept)
    cdef int64_t of_page = len(page) // 4, of_kept = len(kept) // 4, limit = 0xFFFFFFFF, at = 0, to = 0, both = 0
    cdef uint32_t here, there
    if len(page) % 4 or len(kept) % 4:
        raise ValueError("a sample does not end with a whole hash")
    if of_page and of_page == most:
        limit = one[of_page - 1]
    if of_kept and of_kept == most:
        limit = min(limit, <int64_t>other[of_kept - 1])
    while of_page and one[of_page - 1] > limit:
        of_page -= 1
    while at < of_page and to < of_kept:  # without a branch that cannot be foreseen
        here, there = one[at], other[to]
        both += here == there
        at += here <= there
        to += there <= here
    return of_page, of_page - both

from dedup.native import check

check(SOURCES_DIGEST.decode())
