# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The search for near simhashes, and the comparison of sketches and samples.

Simhashes are 64-bit numbers; whatever bytes stand where they should be, nothing is read outside of them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memcpy

cdef extern from "sources.h":
    const char* SOURCES_DIGEST

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

    /* In how many bins either sketch has a value, and in how many both have the same. */
    static void compare_bins(const uint8_t* a, const uint8_t* b, size_t bins, int* either, int* both) {
        int filled = 0, same = 0;
        size_t bin;
        for (bin = 0; bin < bins; bin++) {
            filled += (a[bin] | b[bin]) != 0;
            same += (a[bin] == b[bin]) & (a[bin] != 0);
        }
        *either = filled;
        *both = same;
    }
    """
    size_t near_of(const char*, size_t, uint64_t, int, uint64_t*) noexcept nogil
    void compare_bins(const uint8_t*, const uint8_t*, size_t, int*, int*) noexcept nogil

# A simhash has no more blocks than this, and keys are looked up within so many bits.
cdef enum:
    MOST_BLOCKS = 8
    LARGEST_RADIUS = 2
# How often two different shingles have the same byte in a sketch.
cdef double CHANCE = 1 / 255.0

cdef class _Found:
    cdef uint64_t* simhashes
    cdef size_t count, room

    def __dealloc__(self):
        free(self.simhashes)

    cdef int look(self, const char* data, size_t count, uint64_t simhash, int most) except -1:
        cdef uint64_t* larger
        if self.room < self.count + count:
            larger = <uint64_t*>realloc(self.simhashes, 2 * (self.count + count) * sizeof(uint64_t))
            if larger == NULL:
                raise MemoryError
            self.simhashes, self.room = larger, 2 * (self.count + count)
        if count:
            self.count += near_of(data, count, simhash, most, self.simhashes + self.count)
        return 0

    cdef bytes distinct(self):
        cdef size_t place, kept = 0
        if self.count > 1:
            qsort(self.simhashes, self.count, sizeof(uint64_t), _order)
        for place in range(self.count):
            if not place or self.simhashes[place] != self.simhashes[place - 1]:
                self.simhashes[kept] = self.simhashes[place]
                kept += 1
        return PyBytes_FromStringAndSize(<char*>self.simhashes, kept * sizeof(uint64_t))

cdef int _order(const void* a, const void* b) noexcept nogil:
    cdef uint64_t one = (<const uint64_t*>a)[0], other = (<const uint64_t*>b)[0]
    return (one > other) - (one < other)

cdef class Blocks:
    """Simhashes in blocks (`dedup.index.blocks`); raises `ValueError` for what are no blocks."""

    cdef list _kept
    cdef const uint64_t* _simhashes[MOST_BLOCKS]
    cdef const int64_t* _starts[MOST_BLOCKS]
    cdef int _shifts[MOST_BLOCKS]
    cdef int _widths[MOST_BLOCKS]
    cdef int _count
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
        cdef _Found found = _Found()
        cdef int block, first, second, radius
        cdef int64_t key
        if size > <size_t>tail.shape[0]:
            raise ValueError("the tail is shorter")
        if size:
            found.look(<const char*>&tail[0], size, simhash, most)
        if self._count and most >= (LARGEST_RADIUS + 1) * self._count:
            found.look(<const char*>self._simhashes[0], self._size, simhash, most)
            return found.distinct()
        for block in range(self._count):
            radius = most // self._count - (block > most % self._count)
            if most < 0 or radius < 0:
                continue
            key = <int64_t>(simhash >> self._shifts[block] & ((1 << self._widths[block]) - 1))
            self._look(found, block, key, simhash, most)
            for first in range(self._widths[block] if radius > 0 else 0):
                self._look(found, block, key ^ 1 << first, simhash, most)
                for second in range(first if radius > 1 else 0):
                    self._look(found, block, key ^ 1 << first ^ 1 << second, simhash, most)
        return found.distinct()

    cdef int _look(self, _Found found, int block, int64_t key, uint64_t simhash, int most) except -1:
        cdef int64_t begin = self._starts[block][key], end = self._starts[block][key + 1]
        return found.look(<const char*>(self._simhashes[block] + begin), end - begin, simhash, most)

def similarity(bytes a not None, bytes b not None):
    """Return the estimated Jaccard similarity (0 to 1) of the shingles behind two sketches, 0 for none.

    The standard deviation is .031 on full sketches.  Raises `ValueError` for sketches of two sizes.
    """
    cdef int either, both
    if len(a) != len(b):
        raise ValueError(f"sketches have {len(a)} and {len(b)} bytes")
    compare_bins(<const uint8_t*>PyBytes_AS_STRING(a), <const uint8_t*>PyBytes_AS_STRING(b), len(a), &either, &both)
    cdef double alike = (both / <double>max(either, 1) - CHANCE) / (1 - CHANCE)
    return max(alike, 0.0)

def lost_hashes(bytes page not None, bytes kept not None, Py_ssize_t most):
    """Return how many hashes of *page* can be compared with *kept*, and how many of those it lacks.

    A sample of *most* hashes says nothing beyond its end.  Raises `ValueError` for no samples.
    """
    cdef const uint32_t* one = <const uint32_t*>PyBytes_AS_STRING(page)
    cdef const uint32_t* other = <const uint32_t*>PyBytes_AS_STRING(kept)
    cdef int64_t of_page = len(page) // 4, of_kept = len(kept) // 4, limit = UINT32_MAX
    if len(page) % 4 or len(kept) % 4:
        raise ValueError("a sample does not end with a whole hash")
    if of_page and of_page == most:
        limit = one[of_page - 1]
    if of_kept and of_kept == most:
        limit = min(limit, <int64_t>other[of_kept - 1])
    while of_page and one[of_page - 1] > limit:
        of_page -= 1
    return of_page, of_page - _in_both(one, of_page, other, of_kept)

cdef int64_t _in_both(const uint32_t* a, int64_t of_a, const uint32_t* b, int64_t of_b) noexcept nogil:
    """Return how many hashes two lists in order share; without a branch that cannot be foreseen."""
    cdef int64_t one = 0, other = 0, both = 0
    cdef uint32_t here, there
    while one < of_a and other < of_b:
        here, there = a[one], b[other]
        both += here == there
        one += here <= there
        other += there <= here
    return both

from dedup.native import check

check("_search", SOURCES_DIGEST.decode())
