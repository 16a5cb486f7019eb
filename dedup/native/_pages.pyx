# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""From a tree to the text of a page, and from a text to simhashes and sketches, compiled.

It does what `dedup.reading.walk` and `dedup.prints` do, for the default recipe and the usual page.
Whatever is unusual returns None, and the Python code does it.  Of libxml2's trees only the structs are
read; none of its functions is called, and nothing is changed.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, UINT32_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset, strcmp, strlen, strpbrk
from lxml.includes cimport etreepublic as etree
from lxml.includes cimport tree

etree.import_lxml__etree()

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    uint32_t PyUnicode_READ(int, void*, Py_ssize_t) nogil
    object PyUnicode_FromKindAndData(int, const void*, Py_ssize_t)
    bint PyUnicode_IS_ASCII(object)

cdef extern from "sources.h":
    const char* SOURCES_DIGEST

cdef extern from "fold.h" nogil:
    enum: UNUSUAL, DONE, PARTS, LETTER, SIGN, HAN, KANA, EXPANDS, STRANGE, NOTHING
    enum: IS_SPACE, IS_UNSPACED, IS_MARK, IS_LETTER, IS_HAN, LONGEST_EXPANSION, MOST_COUNTS
    enum: FROM_SPACED, FROM_HAN, FROM_KANA, RUN_OF_HAN
    ctypedef struct Buffer:
        char* data
        size_t size
    ctypedef struct Character:
        uint32_t code
        uint8_t kind, flags
    ctypedef struct Expansion:
        uint32_t length
        uint32_t* characters
    ctypedef struct Token:
        uint32_t end
        uint8_t origin, begins_line
    ctypedef struct Tokens:
        uint8_t* bytes
        size_t used
        Token* tokens
        size_t count
        uint32_t* han
        size_t han_used
        int has_words
        uint8_t begins_line
    ctypedef struct Frequencies:
        const uint64_t* hashes
        const double* roots
        const uint32_t* starts
        double unknown
    ctypedef struct Term:
        uint64_t hash
        uint32_t begin, length, count
        uint8_t origin
    ctypedef struct Run:
        pass
    double* DAMPED
    int make_room(Buffer*, size_t)
    void init_masks()
    uint64_t murmur3(const uint8_t*, size_t)
    size_t put_utf8(uint8_t*, uint32_t)
    size_t get_utf8(const uint8_t*, size_t, uint32_t*)
    void cut(const uint32_t*, size_t, Tokens*)
    int spaced_ascii(const uint8_t*, size_t, uint8_t*)
    int64_t terms_of(const uint8_t*, const Token*, size_t, uint32_t*, size_t, Term*, uint32_t*)
    int fold_terms(const uint8_t*, const Term*, size_t, const Frequencies*, uint64_t*)
    void sort(uint64_t*, uint64_t*, size_t)
    void sketch_of(const uint64_t*, size_t, int, uint8_t*)
    size_t sample_of(const uint64_t*, size_t, uint32_t, size_t, uint32_t*, size_t*)
    size_t shingles_of(const uint64_t*, size_t, size_t, uint64_t*)
    void note_token(Tokens*, uint8_t)
    size_t pairs_of(const uint64_t*, const Token*, const Term*, const uint32_t*, size_t, uint64_t*)
    int has_long_tag(uint8_t*, size_t, size_t)
    int fold_tags(const uint64_t*, const int32_t*, size_t, size_t, const int32_t*, int32_t, Run*, size_t, uint64_t*)

SOURCES = SOURCES_DIGEST.decode()

init_masks()

# For `dedup.reading.compiled` and `dedup.prints.fingerprinter`.
globals().update(
    PARTS=PARTS, LETTER=LETTER, SIGN=SIGN, HAN=HAN, KANA=KANA, EXPANDS=EXPANDS, STRANGE=STRANGE,
    NOTHING=NOTHING, IS_HAN=IS_HAN,
    IS_SPACE=IS_SPACE, IS_UNSPACED=IS_UNSPACED, IS_MARK=IS_MARK, IS_LETTER=IS_LETTER,
    MOST_COUNTS=MOST_COUNTS,
)

# Texts are counted with 32 bits; longer ones are left to Python.
cdef enum:
    LONGEST = 1 << 27
# Memory that is kept for the next page.
cdef enum:
    MOST_KEPT = 8 << 20
    BUFFERS = 18

# ---- Memory


cdef class _Scratch:
    """The memory of one page that is under way: calls of Python may let in another one."""

    cdef Buffer buffers[BUFFERS]

    def __cinit__(self):
        memset(self.buffers, 0, sizeof(self.buffers))

    def __dealloc__(self):
        cdef int number
        for number in range(BUFFERS):
            free(self.buffers[number].data)

    cdef void* room(self, int number, size_t count, size_t size) except NULL:
        """Return room for *count* things of *size* bytes, with what was in it."""
        if count > <size_t>(1 << 40) // size or not make_room(&self.buffers[number], count * size + 16):
            raise MemoryError
        return self.buffers[number].data

    cdef size_t kept(self) noexcept:
        cdef int number
        cdef size_t size = 0
        for number in range(BUFFERS):
            size += self.buffers[number].size
        return size


cdef list _free_scratches = []


cdef _Scratch _scratch():
    return <_Scratch>_free_scratches.pop() if _free_scratches else _Scratch()


cdef void _give_back(_Scratch scratch):
    if len(_free_scratches) < 4 and scratch.kept() <= MOST_KEPT:
        _free_scratches.append(scratch)


# ---- Characters: in blocks of 256, which Python describes when one of them is first met

cdef enum:
    BLOCKS = 0x1100
    MOST_EXPANSIONS = 16384

cdef Character* _blocks[BLOCKS]
cdef Expansion _expansions[MOST_EXPANSIONS]
cdef uint32_t _expansion_count = 0
cdef object _describe = None
cdef dict _tag_bits = {}
cdef dict _role_states = {}
cdef object _words_in = None


def set_characters(describe):
    """Take the function that describes blocks of 256 characters.

    It returns kind, flags and code point of each; for one that expands, pairs of kind and code point.
    """
    global _describe
    _describe = describe


def set_tags(tags, roles, words_in):
    """Take the bits of the tags that are not plain, the states of roles, and what reads a document."""
    global _words_in
    _tag_bits.update(tags)
    _role_states.update(roles)
    _words_in = words_in


def set_logarithms(damped):
    """Take 1 + ln n for each count n from 0 on, `MOST_COUNTS` of them."""
    for number, value in enumerate(damped[:MOST_COUNTS]):
        DAMPED[number] = value


cdef Character* _make_block(uint32_t number) except NULL:
    """Ask Python for the characters of a block."""
    global _expansion_count
    described = list(_describe(number))
    if len(described) != 256:
        raise ValueError("a block has 256 characters")
    cdef Character* block = <Character*>malloc(256 * sizeof(Character))
    if block == NULL:
        raise MemoryError
    cdef Expansion* expansion
    cdef int place = 0
    # Nothing from here on runs Python code, which could let another thread in.
    for kind, flags, code in described:
        block[place].kind = kind
        block[place].flags = flags
        if kind != EXPANDS:
            block[place].code = code
        elif _expansion_count == MOST_EXPANSIONS or len(code) > LONGEST_EXPANSION:
            block[place].kind = STRANGE
        else:
            expansion = &_expansions[_expansion_count]
            expansion.length = 0
            for its_kind, its_code in code:
                expansion.characters[expansion.length] = <uint32_t>its_kind << 24 | <uint32_t>its_code
                expansion.length += 1
            block[place].code = _expansion_count
            _expansion_count += 1
        place += 1
    _blocks[number] = block
    return block


cdef inline Character* _character(uint32_t code) except NULL:
    cdef Character* block = _blocks[code >> 8]
    if block == NULL:
        block = _make_block(code >> 8)
    return block + (code & 255)


# ---- The walk: `dedup.reading.walk.Walk`

# Bits of tags: three of a state, then the others.
cdef enum:
    VISIBLE = 0
    OF_TEXT = 1
    ASIDE = 2
    FALLBACK = 3
    HIDDEN = 4
    STATE = 7
    INLINE = 8
    LINKS = 16
    TITLE = 32
    LINK = 64
    HEADER = 128
    HEAD = 256
    DOCUMENT = 512
    TEMPLATE = 1024
    DRAWING = 2048
    LINE = 4096
    PICTURE = 8192

TAG_BITS = {
    "inline": INLINE, "links": LINKS, "title": TITLE, "link": LINK, "header": HEADER, "head": HEAD,
    "drawing": DRAWING, "document": DOCUMENT, "template": TEMPLATE,
    "line": LINE, "picture": PICTURE,
}

cdef enum:
    MOST_NAMES = 512
    DEEPEST = 60000

cdef enum:  # numbers of buffers
    TEXT = 0
    PLAIN = 1
    LINES = 2
    STACK = 3
    REGIONS = 4
    CHARACTERS = 5
    BYTES = 6
    TOKENS = 7
    HANS = 8
    JOINED = 9
    JOINED_TOKENS = 10
    TERMS = 11
    PLACES = 12
    NUMBERS = 13
    HASHES = 14
    SHINGLES = 15
    FALLBACKS = 16
    PAIRS = 17

ctypedef struct Name:
    const char* name
    int bits

ctypedef struct Frame:
    uint8_t state
    uint16_t bits


class _Unusual(Exception):
    """What only Python does."""


cdef inline tree.xmlAttr* _attribute(tree.xmlNode* node, const char* name) noexcept nogil:
    cdef tree.xmlAttr* attribute = node.properties
    while attribute != NULL:
        if attribute.ns == NULL and strcmp(<const char*>attribute.name, name) == 0:
            return attribute
        attribute = attribute.next
    return NULL


cdef str _value(tree.xmlAttr* attribute):
    """Return the value of an attribute, "" for none."""
    cdef tree.xmlNode* child
    if attribute == NULL:
        return ""
    child = attribute.children
    if child == NULL:
        return ""
    if child.type != tree.XML_TEXT_NODE or child.next != NULL:
        raise _Unusual
    if child.content == NULL:
        return ""
    return PyUnicode_DecodeUTF8(<const char*>child.content, strlen(<const char*>child.content), NULL)


cdef inline bint _is_text(tree.xmlNode* node) noexcept nogil:
    return node.type == tree.XML_TEXT_NODE or node.type == tree.XML_CDATA_SECTION_NODE


cdef str _first_text(tree.xmlNode* node):
    """Return the text before the first element or comment in *node*."""
    cdef tree.xmlNode* child = node.children
    parts = b""
    while child != NULL and _is_text(child):
        if child.content != NULL:
            parts += <const char*>child.content
        child = child.next
    return parts.decode()


cdef bint _has_markup(tree.xmlNode* node) noexcept nogil:
    """Return whether there is a document in *node* that is not parsed."""
    cdef tree.xmlNode* child = node.children
    while child != NULL and _is_text(child):
        if child.content != NULL and strpbrk(<const char*>child.content, b"<&") != NULL:
            return True
        child = child.next
    return _attribute(node, b"srcdoc") != NULL


cdef inline int _append(_Scratch scratch, int state, size_t* shown, size_t* fallback, const char* text) except -1:
    """Append *text* to what is shown, or to the fallbacks, of which so many bytes are used."""
    cdef int number = FALLBACKS if state == FALLBACK else TEXT
    cdef size_t* used = fallback if state == FALLBACK else shown
    cdef size_t length = strlen(text)
    if length > LONGEST or used[0] + length > LONGEST:
        raise _Unusual
    cdef char* data = <char*>scratch.buffers[number].data
    if used[0] + length + 16 > scratch.buffers[number].size:
        data = <char*>scratch.room(number, used[0] + length, 1)
    memcpy(data + used[0], text, length)
    used[0] += length
    return 0


cdef enum:
    BREAK = 0x1E
    LINE_BREAK = 0x1D
    LONG_NAME = 40


def read(etree._Element root not None):
    """Return (text, title, canonical link, language, tags, depths, links, inside, alternates, told) of a tree.

    They are those of `dedup.reading.walk.Walk`.  None stands for a tree that Python must walk.
    """
    cdef _Scratch scratch = _scratch()
    try:
        return _read(root, scratch)
    except (_Unusual, UnicodeDecodeError):
        return None
    finally:
        _give_back(scratch)


cdef inline bint _may_have_defaults(tree.xmlDoc* document) noexcept nogil:
    """Return whether a DTD may give elements attributes that do not stand at them."""
    if document == NULL or document.type == <int>tree.XML_HTML_DOCUMENT_NODE:
        return False
    return document.intSubset != NULL or document.extSubset != NULL


cdef bint _is_empty(tree.xmlNode* node) except -1:
    if node.children != NULL and _is_text(node.children) and not _first_text(node):
        raise _Unusual
    return node.children == NULL


cdef tree.xmlNode* _next_root(tree.xmlNode* root) except? NULL:
    """Return the next root of the document with something in it: what stands after a first ``</html>``."""
    cdef tree.xmlNode* node = root.next
    if root.parent != NULL and root.parent.type == tree.XML_ELEMENT_NODE:
        return NULL
    while node != NULL and (node.type != tree.XML_ELEMENT_NODE or _is_empty(node)):
        node = node.next
    return node


cdef tuple _read(etree._Element root, _Scratch scratch):
    cdef tree.xmlNode* top = root._c_node
    cdef tree.xmlNode* node = top
    cdef tree.xmlNode* child
    cdef Name names[MOST_NAMES]
    cdef const void* met[256]
    cdef uint16_t met_as[256]
    cdef int name_count = 0, number, state, own, bits, around
    cdef size_t slot, depth = 0, used = 0, fallback = 0, regions = 0, aside_start = 0
    cdef int inside = -1
    cdef bint is_read = False
    cdef Frame* stack
    cdef size_t* region
    cdef list name_list = [], tags = [], depths = [], links = [], alternates = [], told = []
    cdef str title = "", canonical = "", language = "", value
    if top == NULL or top.type != tree.XML_ELEMENT_NODE or _may_have_defaults(top.doc):
        raise _Unusual
    if _is_empty(top):
        top = node = _next_root(top)
        if top == NULL:  # Scrapy makes one for a page without any element
            return "", "", "", "", (), (), (), None, (), ()
    language = _value(_attribute(top, b"lang"))
    memset(met, 0, sizeof(met))
    scratch.room(TEXT, 4096, 1)
    stack = <Frame*>scratch.room(STACK, 1024, sizeof(Frame))
    while True:
        # An element begins.
        if node.ns != NULL or depth > DEEPEST:
            raise _Unusual
        slot = (<size_t>node.name >> 3) & 255
        if met[slot] == <const void*>node.name:
            number = met_as[slot]
        else:
            for number in range(name_count):
                if strcmp(names[number].name, <const char*>node.name) == 0:
                    break
            else:
                number = name_count
                if number == MOST_NAMES:
                    raise _Unusual
                value = PyUnicode_DecodeUTF8(<const char*>node.name, strlen(<const char*>node.name), NULL)
                names[number].name = <const char*>node.name
                names[number].bits = _tag_bits.get(value, 0)
                name_list.append(value)
                name_count += 1
            met[slot] = <const void*>node.name
            met_as[slot] = number
        bits = names[number].bits
        tags.append(name_list[number])
        depths.append(depth)
        if (depth + 2) * sizeof(Frame) > scratch.buffers[STACK].size:
            stack = <Frame*>scratch.room(STACK, depth + 2, sizeof(Frame))
        state = stack[depth - 1].state if depth else VISIBLE
        if state != HIDDEN:
            own = bits & STATE
            if bits & HEADER and state == OF_TEXT:
                own = VISIBLE
            elif bits & TITLE:
                around = stack[depth - 1].bits if depth else 0
                own = FALLBACK if around & DRAWING else HIDDEN if around & HEAD else VISIBLE
            elif bits & TEMPLATE and _attribute(node, b"shadowrootmode") != NULL:
                own = VISIBLE
            if not bits & INLINE and own < ASIDE and node.properties != NULL:
                value = _value(_attribute(node, b"role"))
                if value:
                    for role in value.lower().split():
                        own = max(own, <int>_role_states.get(role, VISIBLE))
            if own > state:
                state = own
                if own == ASIDE:
                    aside_start = used
            if state != HIDDEN and not bits & INLINE:
                _append(scratch, state, &used, &fallback, b"\x1d" if bits & LINE else b"\x1e")
            if bits & DOCUMENT and state != HIDDEN and _has_markup(node):
                value = _words_in(_value(_attribute(node, b"srcdoc")), _first_text(node))
                _append(scratch, state, &used, &fallback, value.encode())
                is_read = True
        if bits & (LINKS | TITLE | LINK | PICTURE):
            if bits & TITLE:
                title = title or _first_text(node)
            elif bits & LINKS:
                value = _value(_attribute(node, b"href"))
                if value:
                    links.append(value)
            elif bits & PICTURE:
                for value in (_value(_attribute(node, b"alt")), _value(_attribute(node, b"title"))):
                    if len(value) >= LONG_NAME:
                        told.append(value)
            else:
                kinds = _value(_attribute(node, b"rel")).lower().split()
                if "canonical" in kinds:
                    canonical = canonical or _value(_attribute(node, b"href"))
                if "alternate" in kinds and (value := _value(_attribute(node, b"hreflang"))):
                    alternates.append((value, _value(_attribute(node, b"href"))))
        stack[depth].state = state
        stack[depth].bits = bits
        depth += 1
        child = node.children
        while is_read and child != NULL and _is_text(child):
            child = child.next
        is_read = False
        # What follows until the next element begins.
        while True:
            if child == NULL:  # the element ends
                depth -= 1
                state = stack[depth - 1].state if depth else VISIBLE
                if stack[depth].state == ASIDE and state < ASIDE:
                    region = <size_t*>scratch.room(REGIONS, 2 * regions + 2, sizeof(size_t))
                    region[2 * regions] = aside_start
                    region[2 * regions + 1] = used
                    regions += 1
                if node == top:
                    break
                if state != HIDDEN and stack[depth].state != HIDDEN and not stack[depth].bits & INLINE:
                    _append(scratch, stack[depth].state, &used, &fallback,
                            b"\x1d" if stack[depth].bits & LINE else b"\x1e")
                child = node.next
                node = node.parent
            elif _is_text(child):
                if child.content != NULL and stack[depth - 1].state != HIDDEN:
                    _append(scratch, stack[depth - 1].state, &used, &fallback, <const char*>child.content)
                child = child.next
            elif child.type == tree.XML_ELEMENT_NODE:
                break
            elif child.type == tree.XML_COMMENT_NODE or child.type == tree.XML_PI_NODE:
                child = child.next
            else:
                raise _Unusual
        if child == NULL:
            top = child = _next_root(top)
            if top == NULL:
                break
            language = language or _value(_attribute(top, b"lang"))
        node = child
    text = _chosen(scratch, used, regions, &inside)
    if _word_count(<char*>scratch.buffers[FALLBACKS].data, fallback) >= MIN_FALLBACK_WORDS:
        shown = text.encode("utf-8")
        if _word_count(shown, len(shown)) >= MIN_SHOWN_WORDS:
            text = f"{text}\n{_lines(scratch, <char*>scratch.buffers[FALLBACKS].data, fallback)}"
    return (
        text, title, canonical, language, tuple(tags), tuple(depths), tuple(links),
        None if inside < 0 else inside, tuple(alternates), tuple(told),
    )


# ---- Where lines stand: `dedup.reading.places`

cdef dict _places = {}
cdef enum:
    MOST_PLACES = 20000


cdef int _end_line(_Scratch scratch, size_t* used, list steps, list lines, step) except -1:
    """Append the line that has ended, if there is one, with its place.

    *steps* are the elements around it: where one lies in memory, or its part of a place.
    """
    cdef const char* text = scratch.buffers[TEXT].data
    cdef tree.xmlNode* node
    cdef size_t at
    cdef Py_ssize_t number
    for at in range(used[0]):
        if <unsigned char>text[at] > 0x20:
            line = " ".join(PyUnicode_DecodeUTF8(text, used[0], NULL).split())
            if line:
                for number in range(max(0, len(steps) - 3), len(steps)):
                    if type(steps[number]) is not str:
                        node = <tree.xmlNode*><size_t>steps[number]
                        tag = PyUnicode_DecodeUTF8(<const char*>node.name, strlen(<const char*>node.name), NULL)
                        around = tag, _value(_attribute(node, b"class")), _value(_attribute(node, b"id"))
                        name = _places.get(around)
                        if name is None:
                            name = _places[around] = step(*around)
                        steps[number] = name
                around = tuple(steps[-3:])
                place = _places.get(around)
                if place is None:
                    place = _places[around] = ">".join(around)
                lines.append((place, line))
            break
    used[0] = 0
    return 0


def placed(etree._Element root not None, step):
    """Return the lines under *root* with their places, None for a tree that Python must walk.

    *step* makes a part of a place of a tag, a class and an id.
    """
    cdef _Scratch scratch = _scratch()
    cdef list lines = []
    cdef tree.xmlNode* top = root._c_node
    try:
        if top == NULL or _may_have_defaults(top.doc):
            return None
        while top != NULL:
            if top.type == tree.XML_ELEMENT_NODE:
                _place_lines(top, scratch, step, lines)
            top = NULL if root.getparent() is not None else top.next
        if len(_places) > MOST_PLACES:
            _places.clear()
        return lines
    except (_Unusual, UnicodeDecodeError):
        return None
    finally:
        _give_back(scratch)


cdef int _place_lines(tree.xmlNode* top, _Scratch scratch, step, list lines) except -1:
    cdef tree.xmlNode* node = top
    cdef tree.xmlNode* hidden = NULL
    cdef size_t used = 0, depth = 0
    cdef list steps = [], tags = []
    cdef dict met = {}
    cdef int bits
    scratch.room(TEXT, 4096, 1)
    while True:
        if node.type == tree.XML_ELEMENT_NODE:
            if node.ns != NULL or depth > DEEPEST:
                raise _Unusual
            found = met.get(<size_t>node.name)
            if found is None:
                tag = PyUnicode_DecodeUTF8(<const char*>node.name, strlen(<const char*>node.name), NULL)
                found = met[<size_t>node.name] = _tag_bits.get(tag, 0)
            bits = found
            tags.append(found)
            depth += 1
            if hidden == NULL and bits & STATE >= FALLBACK:
                hidden = node
            if hidden == NULL and not bits & INLINE:
                _end_line(scratch, &used, steps, lines, step)
                steps.append(<size_t>node)
            if node.children != NULL:
                node = node.children
                continue
        elif _is_text(node):
            if hidden == NULL and node.content != NULL:
                _append(scratch, VISIBLE, &used, &used, <const char*>node.content)
        elif node.type != tree.XML_COMMENT_NODE and node.type != tree.XML_PI_NODE:
            raise _Unusual
        while True:  # what has no more children ends
            if node.type == tree.XML_ELEMENT_NODE:
                bits = tags.pop()
                depth -= 1
                if hidden == NULL and not bits & INLINE:
                    _end_line(scratch, &used, steps, lines, step)
                    steps.pop()
                if hidden == node:
                    hidden = NULL
            if node == top:
                return 0
            if node.next != NULL:
                node = node.next
                break
            node = node.parent


# As `dedup.reading.walk` has them.
cdef enum:
    MIN_MAIN_WORDS = 20
    MIN_FALLBACK_WORDS = 40
    MIN_SHOWN_WORDS = 4
cdef double MIN_MAIN_SHARE = 0.10


cdef str _chosen(_Scratch scratch, size_t used, size_t regions, int* inside):
    """Return the text outside of the *regions* that are aside, or all of it where that is too little.

    Then *inside* is set to how many words are outside of them, 1 or more.
    """
    cdef const char* text = scratch.buffers[TEXT].data
    cdef const size_t* region = <size_t*>scratch.buffers[REGIONS].data
    cdef char* plain
    cdef size_t number, length, begin = 0, plain_used = 0
    cdef double words
    if not regions:
        return _lines(scratch, text, used)
    plain = <char*>scratch.room(PLAIN, used, 1)
    for number in range(regions):
        length = region[2 * number] - begin
        memcpy(plain + plain_used, text + begin, length)
        plain_used += length
        begin = region[2 * number + 1]
    memcpy(plain + plain_used, text + begin, used - begin)
    plain_used += used - begin
    words = _word_count(plain, plain_used)
    if words < MIN_MAIN_WORDS:
        inside[0] = max(1, <int>words)
        return _lines(scratch, text, used)
    if words < MIN_MAIN_SHARE * (_length(text, used) / 2.0 + 1):
        if words < MIN_MAIN_SHARE * _word_count(text, used):
            raise _Unusual
    return _lines(scratch, plain, plain_used)


cdef size_t _length(const char* text, size_t used) noexcept nogil:
    """Return how many characters *text* has."""
    cdef size_t place, count = 0
    for place in range(used):
        count += (text[place] & 0xC0) != 0x80
    return count


cdef double _word_count(const char* text, size_t used) except -1:
    cdef size_t place = 0, size
    cdef uint32_t code
    cdef uint8_t flags
    cdef long long words = 0, unspaced = 0
    cdef bint is_inside = False
    cdef Character* ascii = _character(0)
    while place < used:
        code = <uint8_t>text[place]
        if code < 0x80:
            place += 1
            flags = ascii[code].flags
        else:
            size = get_utf8(<const uint8_t*>text + place, used - place, &code)
            if not size:
                raise _Unusual
            place += size
            flags = _character(code).flags
        if flags & IS_SPACE:
            is_inside = False
        elif not is_inside:
            is_inside = True
            words += 1
        if flags & IS_UNSPACED:
            unspaced += 1
    return words + unspaced / 2.0


cdef str _lines(_Scratch scratch, const char* text, size_t used):
    """Return *text* with one space for white space, and one line break for breaks."""
    cdef char* lines = <char*>scratch.room(LINES, used, 1)
    cdef size_t place = 0, size, length = 0, gap = 0
    cdef uint32_t code
    cdef char wanted = 0
    cdef Character* ascii = _character(0)
    while place < used:
        code = <uint8_t>text[place]
        if code < 0x80:
            size = 1
            if ascii[code].flags & IS_SPACE:
                gap = gap if wanted else place
                if code == BREAK or code == LINE_BREAK:
                    wanted = 10
                elif not wanted:
                    wanted = 32
                place += 1
                continue
        else:
            size = get_utf8(<const uint8_t*>text + place, used - place, &code)
            if not size:
                raise _Unusual
            if _character(code).flags & IS_SPACE:
                gap = gap if wanted else place
                wanted = wanted or 32
                place += size
                continue
        if wanted:
            if length and not (size > 1 and _is_wrapped(text, gap, place)):
                lines[length] = wanted
                length += 1
            wanted = 0
        memcpy(lines + length, text + place, size)
        length += size
        place += size
    return PyUnicode_DecodeUTF8(lines, length, NULL)


cdef bint _is_wrapped(const char* text, size_t begin, size_t end) except -1:
    """Return whether there is nothing but the end of a line between two characters: `_WRAPPED` of the walk."""
    cdef size_t place = begin, line_breaks = 0
    cdef uint32_t before = 0, behind = 0
    cdef bint has_end = False
    for place in range(begin, end):
        if text[place] == BREAK:
            return False
        line_breaks += text[place] == LINE_BREAK
        has_end |= text[place] == 10
    if line_breaks != 2 and (line_breaks or not has_end):
        return False
    place = begin
    while place and text[place - 1] & 0xC0 == 0x80:
        place -= 1
    if not place or not get_utf8(<const uint8_t*>text + place - 1, begin - place + 1, &before):
        return False
    get_utf8(<const uint8_t*>text + end, 4, &behind)  # behind the text there is room
    return _character(before).flags & _character(behind).flags & IS_HAN != 0


# ---- Content: `dedup.reading.tokens` and `dedup.prints`


cdef class Content:
    """What folds texts by the recipe.

    *segment* is called with runs of Han characters, parted by line breaks, and returns their words.
    *frequencies* returns (hashes, roots, starts, root of an unknown word), see `fold.h`; it is called
    once.
    """

    cdef object _segment, _frequencies, _held
    cdef Frequencies _table
    cdef uint32_t _one_in
    cdef size_t _size, _most_sampled, _most_pairs
    cdef int _bits

    def __init__(self, segment, frequencies, *, size_t shingle, int bins, uint32_t one_in,
                 size_t most_sampled, size_t most_pairs):
        if not shingle or not 2 <= bins <= 256:
            raise ValueError("a shingle or bins of another size than this module knows")
        if bins & (bins - 1) or one_in & (one_in - 1):
            raise ValueError("bins and samples are powers of two")
        self._segment, self._frequencies = segment, frequencies
        self._size = shingle
        self._bits = bins.bit_length() - 1
        self._one_in, self._most_sampled, self._most_pairs = one_in, most_sampled, most_pairs
        self._held = None

    def __call__(self, text):
        """Return what a text gives, or None where Python must do it.

        It is (simhash, sketch, the text with its white space as single spaces in bytes, number of tokens,
        number of those with kana, number of different shingles, sample, pairs).
        """
        cdef _Scratch scratch
        if type(text) is not str or not self._size:
            return None
        scratch = _scratch()
        try:
            return self._folded(text, scratch)
        except _Unusual:
            return None
        finally:
            _give_back(scratch)

    cdef tuple _folded(self, str text, _Scratch scratch):
        cdef Tokens found
        cdef size_t length = _normalized(text, scratch)
        memset(&found, 0, sizeof(found))
        found.bytes = <uint8_t*>scratch.room(BYTES, length, 9)
        found.tokens = <Token*>scratch.room(TOKENS, length, sizeof(Token))
        found.han = <uint32_t*>scratch.room(HANS, length, 8)
        found.begins_line = True
        cut(<const uint32_t*>scratch.buffers[CHARACTERS].data, length, &found)
        if not found.has_words:
            found.count = found.used = 0
        elif found.han_used:
            self._join(&found, scratch)
        return self._result(text, &found, scratch)

    cdef int _join(self, Tokens* found, _Scratch scratch) except -1:
        """Put the words of the runs of Han between the other tokens."""
        words = list(self._segment(PyUnicode_FromKindAndData(4, found.han, found.han_used)))
        if self._held is None:
            self._take_frequencies()
        cdef size_t word, words_count = len(words), token, begin = 0, length, place, most = found.used
        cdef Tokens joined
        most += found.han_used * 5 + 2 * words_count + 16
        memset(&joined, 0, sizeof(joined))
        joined.bytes = <uint8_t*>scratch.room(JOINED, most, 1)
        joined.tokens = <Token*>scratch.room(JOINED_TOKENS, found.count + words_count, sizeof(Token))
        joined.has_words = True
        cdef int kind
        cdef void* data
        word = 0
        for token in range(found.count):
            joined.begins_line |= found.tokens[token].begins_line
            if found.tokens[token].origin != RUN_OF_HAN:
                length = found.tokens[token].end - begin
                if joined.used + length + 2 > most:
                    raise _Unusual
                memcpy(joined.bytes + joined.used, found.bytes + begin, length)
                begin = found.tokens[token].end + 1
                _end(&joined, length, found.tokens[token].origin)
                continue
            while word < words_count:
                found_word = words[word]
                word += 1
                if not isinstance(found_word, str):
                    raise _Unusual
                length = PyUnicode_GET_LENGTH(found_word)
                kind = PyUnicode_KIND(found_word)
                data = PyUnicode_DATA(found_word)
                if length == 1 and PyUnicode_READ(kind, data, 0) == 10:
                    break
                if not length or joined.used + 4 * length + 2 > most:
                    raise _Unusual
                for place in range(length):
                    joined.used += put_utf8(joined.bytes + joined.used, PyUnicode_READ(kind, data, place))
                _end(&joined, 0, FROM_HAN)
        found[0] = joined
        return 0

    cdef int _take_frequencies(self) except -1:
        hashes, roots, starts, unknown = self._frequencies()
        cdef const uint64_t[::1] its_hashes = hashes
        cdef const double[::1] its_roots = roots
        cdef const uint32_t[::1] its_starts = starts
        if len(starts) != 65537 or len(hashes) != len(roots) or starts[65536] != len(hashes):
            raise ValueError("a table of another size than this module knows")
        self._table.hashes, self._table.roots = &its_hashes[0], &its_roots[0]
        self._table.starts, self._table.unknown = &its_starts[0], unknown
        self._held = (hashes, roots, starts)
        return 0

    cdef tuple _result(self, str text, Tokens* found, _Scratch scratch):
        cdef size_t count = found.count, size = 64, shingles_count, sampled, place, different, kana = 0, paired
        cdef uint64_t* its_pairs
        cdef uint64_t simhash
        cdef uint64_t* hashes
        cdef uint64_t* shingles
        cdef uint32_t* places
        cdef uint32_t* numbers
        cdef Term* terms
        cdef int64_t term_count
        cdef uint8_t sketch[256]
        while size < 2 * count:
            size *= 2
        places = <uint32_t*>scratch.room(PLACES, size, 4)
        memset(places, 0, size * 4)
        terms = <Term*>scratch.room(TERMS, count, sizeof(Term))
        numbers = <uint32_t*>scratch.room(NUMBERS, count, 4)
        term_count = terms_of(found.bytes, found.tokens, count, places, size, terms, numbers)
        if term_count < 0:
            raise _Unusual
        for place in range(<size_t>term_count):
            if terms[place].origin == FROM_KANA:
                kana += terms[place].count
            if terms[place].origin != FROM_SPACED and self._held is None:
                self._take_frequencies()
        if fold_terms(found.bytes, terms, term_count,
                      &self._table if self._held is not None else NULL, &simhash) != DONE:
            raise _Unusual
        hashes = <uint64_t*>scratch.room(HASHES, count, 16)
        shingles = <uint64_t*>scratch.room(SHINGLES, count, 8)
        for place in range(count):
            hashes[place] = terms[numbers[place]].hash
        its_pairs = <uint64_t*>scratch.room(PAIRS, 2 * count, 16)
        paired = pairs_of(hashes, found.tokens, terms, numbers, count, its_pairs)
        sort(its_pairs, its_pairs + 2 * count, paired)
        pairs = PyBytes_FromStringAndSize(NULL, 4 * min(self._most_pairs, paired))
        sample_of(its_pairs, paired, 1, self._most_pairs, <uint32_t*>PyBytes_AS_STRING(pairs), &paired)
        shingles_count = shingles_of(hashes, count, self._size, shingles)
        sketch_of(shingles, shingles_count, self._bits, sketch)
        sort(shingles, hashes, shingles_count)
        sample = PyBytes_FromStringAndSize(NULL, 4 * min(self._most_sampled, shingles_count))
        different = sample_of(shingles, shingles_count, self._one_in, self._most_sampled,
                              <uint32_t*>PyBytes_AS_STRING(sample), &sampled)
        return (
            simhash,
            PyBytes_FromStringAndSize(<char*>sketch, 1 << self._bits),
            _spaced(text, scratch) if count else b"",
            count,
            kana,
            different,
            sample[:4 * sampled],
            pairs[:4 * paired],
        )


cdef inline void _end(Tokens* tokens, size_t length, uint8_t origin) noexcept:
    tokens.used += length
    note_token(tokens, origin)
    tokens.bytes[tokens.used] = 32
    tokens.used += 1


cdef bytes _spaced(str text, _Scratch scratch):
    """Return *text* with its white space as single spaces; its characters are described already."""
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), place
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef uint8_t* out = <uint8_t*>scratch.room(BYTES, length, 4)
    cdef size_t used = 0
    cdef uint32_t code
    cdef bint is_parted = False
    if PyUnicode_IS_ASCII(text) and spaced_ascii(<const uint8_t*>data, length, out):
        return PyBytes_FromStringAndSize(<char*>out, length)
    for place in range(length):
        code = PyUnicode_READ(kind, data, place)
        if _blocks[code >> 8][code & 255].flags & IS_SPACE:
            is_parted = used > 0
            continue
        if is_parted:
            out[used] = 32
            used += 1
            is_parted = False
        used += put_utf8(out + used, code)
    return PyBytes_FromStringAndSize(<char*>out, used)


# Of so many characters one is looked at: without a mark among them there is no flood of marks.
cdef enum:
    MOST_MARKS = 200
    JOINER = 0x200D


cdef size_t _normalized(str text, _Scratch scratch) except? 0:
    """Write the normalized characters of *text* into the buffer, and return how many there are."""
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), place
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef uint32_t code, number, last = UINT32_MAX
    cdef uint32_t* out
    cdef size_t used = 0, extra
    cdef Character* block = _character(0)
    cdef Character* character
    cdef Expansion* expansion
    if length > LONGEST:
        raise _Unusual
    out = <uint32_t*>scratch.room(CHARACTERS, length, 4)
    if PyUnicode_IS_ASCII(text):
        for place in range(length):
            character = block + (<uint8_t*>data)[place]
            out[place] = <uint32_t>character.kind << 24 | character.code
        return length
    for place in range(length):
        code = PyUnicode_READ(kind, data, place)
        number = code >> 8
        if number != last:
            block = _blocks[number]
            if block == NULL:
                block = _make_block(number)
            last = number
        character = block + (code & 255)
        if character.kind < EXPANDS:
            out[used] = <uint32_t>character.kind << 24 | character.code
            used += 1
        elif character.kind == STRANGE:
            raise _Unusual
        elif character.kind == EXPANDS:
            expansion = &_expansions[character.code]
            if (used + expansion.length + (length - place)) * 4 > scratch.buffers[CHARACTERS].size:
                out = <uint32_t*>scratch.room(CHARACTERS, used + expansion.length + (length - place), 8)
            for extra in range(expansion.length):
                out[used] = expansion.characters[extra]
                used += 1
            if used > LONGEST:
                raise _Unusual
        elif code == JOINER and not (
            (place and _character(PyUnicode_READ(kind, data, place - 1)).flags & IS_LETTER)
            or (place + 1 < length and _character(PyUnicode_READ(kind, data, place + 1)).flags & IS_LETTER)
        ):
            out[used] = code  # it parts what it stands between
            used += 1
        if character.flags & IS_MARK and place and place % MOST_MARKS == 0:
            raise _Unusual
    return used


# ---- Structure: `dedup.algorithms.structure.hashed_runs`


def structure(tags, depths, const int32_t[::1] weights, size_t run):
    """Return the simhash of runs of *run* tags, weighed by the depth of each; None where Python must do it."""
    cdef _Scratch scratch
    if type(tags) is not tuple or type(depths) is not tuple or weights.shape[0] == 0:
        return None
    scratch = _scratch()
    try:
        return _structure(tags, depths, weights, run, scratch)
    except _Unusual:
        return None
    finally:
        _give_back(scratch)


cdef object _structure(tuple tags, tuple depths, const int32_t[::1] weights, size_t run,
                       _Scratch scratch):
    cdef size_t count = len(tags), place, size = 64, slot
    cdef void* met[256]
    cdef uint64_t met_hash[256]
    cdef uint64_t simhash
    cdef uint64_t* hashes
    cdef int32_t* levels
    cdef Run* places
    cdef object tag, depth
    cdef dict known = {}
    if len(depths) != count or count > LONGEST:
        raise _Unusual
    memset(met, 0, sizeof(met))
    while size < 2 * count:
        size *= 2
    hashes = <uint64_t*>scratch.room(HASHES, count, 8)
    levels = <int32_t*>scratch.room(NUMBERS, count, 4)
    places = <Run*>scratch.room(PLACES, size, sizeof(Run))
    memset(places, 0, size * sizeof(Run))
    for place in range(count):
        tag, depth = tags[place], depths[place]
        slot = (<size_t><void*>tag >> 4) & 255
        if met[slot] != <void*>tag:
            found = known.get(tag)
            if found is None:
                if type(tag) is not str:
                    raise _Unusual
                name = (<str>tag).encode("utf-8", "surrogatepass")
                found = known[tag] = murmur3(<const uint8_t*>PyBytes_AS_STRING(name), len(name))
            met[slot] = <void*>tag
            met_hash[slot] = found
        hashes[place] = met_hash[slot]
        if type(depth) is not int or not 0 <= depth < INT32_MAX:
            raise _Unusual
        levels[place] = depth
    if fold_tags(hashes, levels, count, min(run, count), &weights[0], weights.shape[0] - 1, places, size,
                 &simhash) != DONE:
        raise _Unusual
    return simhash


# ---- Long tags: `dedup.reading.floods`


def may_have_long_tag(bytes markup not None, size_t long_tag):
    """Return False only if every tag in *markup* ends within *long_tag* bytes."""
    cdef size_t length = len(markup)
    cdef _Scratch scratch = _scratch()
    try:
        memcpy(scratch.room(BYTES, length, 1), PyBytes_AS_STRING(markup), length)
        return bool(has_long_tag(<uint8_t*>scratch.buffers[BYTES].data, length, long_tag))
    finally:
        _give_back(scratch)
