/* The inner loops of `_pages.pyx`: from characters to tokens, from tokens to simhashes and sketches.
 *
 * No Python and no libxml2 in here.  Every function works on memory that its caller has measured out,
 * and none runs longer than in proportion to its input: where crafted input would make a table slow,
 * the answer is UNUSUAL and the caller leaves the page to the Python code.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UNUSUAL = 0, DONE = 1, NO_MEMORY = -1 };

/* ---- Memory that grows and is used again ---- */

typedef struct {
    char *data;
    size_t size;
} Buffer;

/* Make room for so many bytes; what was in the buffer stays.  Returns 0 where there is no memory. */
static int make_room(Buffer *buffer, size_t bytes) {
    size_t size = buffer->size ? buffer->size : 4096;
    char *data;
    if (bytes <= buffer->size) return 1;
    while (size < bytes) {
        if (size > SIZE_MAX / 2) return 0;
        size *= 2;
    }
    data = (char *)realloc(buffer->data, size);
    if (!data) return 0;
    buffer->data = data;
    buffer->size = size;
    return 1;
}

/* ---- Hashes: `dedup.model.hashes` ---- */

static const uint64_t STEP = 0x9E3779B97F4A7C15ULL;

static inline uint64_t mixed(uint64_t hash) {
    hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCDULL;
    hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53ULL;
    return hash ^ (hash >> 33);
}

static inline uint64_t turned(uint64_t value, int bits) { return (value << bits) | (value >> (64 - bits)); }

static inline uint64_t little_endian(const uint8_t *bytes) {
    uint64_t value = 0;
    int place;
    for (place = 7; place >= 0; place--) value = value << 8 | bytes[place];
    return value;
}

/* As many bytes as a number, 1 to 8. */
static inline uint64_t few(const uint8_t *bytes, size_t length) {
    uint32_t low, high;
    size_t half = length / 2, last = length - 1;
    if (length < 4) return bytes[0] | (uint32_t)bytes[half] << 8 * half | (uint32_t)bytes[last] << 8 * last;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + length - 4, 4);
    return low | (uint64_t)high << 8 * (length - 4);
}

/* The first 64 bits of MurmurHash3 x64 128 (A. Appleby, 2011; in the public domain). */
static uint64_t murmur3(const uint8_t *bytes, size_t length) {
    const uint64_t c1 = 0x87C37B91114253D5ULL, c2 = 0x4CF5AD432745937FULL;
    uint64_t h1 = 0, h2 = 0;
    size_t blocks = length / 16, rest = length & 15, place;
    const uint8_t *tail = bytes + 16 * blocks;
    for (place = 0; place < blocks; place++) {
        h1 ^= turned(little_endian(bytes + 16 * place) * c1, 31) * c2;
        h1 = (turned(h1, 27) + h2) * 5 + 0x52DCE729;
        h2 ^= turned(little_endian(bytes + 16 * place + 8) * c2, 33) * c1;
        h2 = (turned(h2, 31) + h1) * 5 + 0x38495AB5;
    }
    if (rest > 8) h2 ^= turned(few(tail + 8, rest - 8) * c2, 33) * c1;
    if (rest) h1 ^= turned(few(tail, rest < 8 ? rest : 8) * c1, 31) * c2;
    h1 ^= length;
    h2 ^= length;
    h1 += h2;
    h2 += h1;
    return mixed(h1) + mixed(h2);
}

/* ---- SimHash: `dedup.algorithms.simhash.fold` ---- */

/* Sums of 32 bits, two in one number, are faster; they go to those of 64 before one could overflow. */
typedef struct {
    uint64_t some[32];
    int64_t votes[64], total;
    uint32_t pending;
} Votes;

static uint64_t BYTE_MASKS[256][4];

static void init_masks(void) {
    int byte, bit;
    for (byte = 0; byte < 256; byte++)
        for (bit = 0; bit < 8; bit++)
            if (byte >> bit & 1) BYTE_MASKS[byte][bit / 2] |= (uint64_t)0xFFFFFFFF << 32 * (bit & 1);
}

static void count_votes(Votes *votes) {
    int bit;
    for (bit = 0; bit < 64; bit++) votes->votes[bit] += (uint32_t)(votes->some[bit / 2] >> 32 * (bit & 1));
    memset(votes->some, 0, sizeof votes->some);
    votes->pending = 0;
}

/* Let the bits of *hash* vote with a *weight* from 0 to 2**24. */
static inline void vote(Votes *votes, uint64_t hash, int32_t weight) {
    uint64_t both = (uint64_t)weight << 32 | (uint32_t)weight;
    int byte, two;
    votes->pending += (uint32_t)weight;
    if (votes->pending > 0x3FFFFFFF) {
        count_votes(votes);
        votes->pending = (uint32_t)weight;
    }
    votes->total += weight;
    for (byte = 0; byte < 8; byte++) {
        const uint64_t *masks = BYTE_MASKS[hash >> 8 * byte & 255];
        for (two = 0; two < 4; two++) votes->some[4 * byte + two] += masks[two] & both;
    }
}

static uint64_t simhash_of(Votes *votes) {
    uint64_t simhash = 0;
    int bit;
    count_votes(votes);
    for (bit = 0; bit < 64; bit++) {
        int64_t twice = 2 * votes->votes[bit];
        if (twice > votes->total) simhash |= (uint64_t)1 << bit;
    }
    return simhash;
}

/* ---- Characters ---- */

/* What a character is after normalization: it parts words, is in a word, is a sign of programs, is a Han
 * character or kana; or it becomes several characters, or none; or only Python knows what it does to its neighbours. */
enum { PARTS = 0, LETTER = 1, SIGN = 2, HAN = 3, KANA = 4, EXPANDS = 5, STRANGE = 6, NOTHING = 7 };
enum { IS_SPACE = 1, IS_UNSPACED = 2, IS_MARK = 4, IS_LETTER = 8, IS_HAN = 16 };

typedef struct {
    uint32_t code; /* the normalized character, a number of an expansion for EXPANDS */
    uint8_t kind, flags;
} Character;

enum { LONGEST_EXPANSION = 18 };
typedef struct {
    uint32_t length;
    uint32_t characters[LONGEST_EXPANSION]; /* kind << 24 | code */
} Expansion;

#define KIND(character) ((character) >> 24)
#define CODE(character) ((character)&0xFFFFFF)

static inline size_t put_utf8(uint8_t *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
    out[3] = (uint8_t)(0x80 | (code & 63));
    return 4;
}

/* Read one character of at most *length* bytes; returns its size, 0 for what is no UTF-8. */
static inline size_t get_utf8(const uint8_t *bytes, size_t length, uint32_t *code) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t value;
    size_t size, place;
    if (bytes[0] < 0x80) {
        *code = bytes[0];
        return 1;
    }
    size = bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
    if (bytes[0] < 0xC0 || bytes[0] > 0xF4 || size > length) return 0;
    value = bytes[0] & (0x7F >> size);
    for (place = 1; place < size; place++) {
        if ((bytes[place] & 0xC0) != 0x80) return 0;
        value = value << 6 | (bytes[place] & 63);
    }
    if (value < least[size] || value > 0x10FFFF || (value >> 11) == 0x1B) return 0;
    *code = value;
    return size;
}

/* ---- Tokens: `dedup.reading.tokens.tokens` ---- */

enum { FROM_SPACED = 0, FROM_HAN = 1, FROM_KANA = 2, RUN_OF_HAN = 3 };

/* Of a token; what is longer is several. */
enum { MOST_CHARACTERS = 16 };

typedef struct {
    uint32_t end; /* in the bytes of the tokens, which are parted by a space */
    uint8_t origin, begins_line;
} Token;

typedef struct {
    uint8_t *bytes;
    size_t used;
    Token *tokens;
    size_t count;
    uint32_t *han; /* the runs of Han characters, parted by a line break */
    size_t han_used;
    int has_words; /* whether a token is more than signs */
    uint8_t begins_line; /* whether the next token does */
} Tokens;

static inline int is_digit(uint32_t character) { return CODE(character) - '0' < 10u; }
static inline int is_word(uint32_t character) { return KIND(character) == LETTER || KIND(character) == SIGN; }

/* Whether what is at *place* begins a number, as a minus or a decimal point: before a digit, and behind no word. */
static inline int begins_number(const uint32_t *characters, size_t place, size_t length) {
    uint32_t code = CODE(characters[place]);
    return (code == '-' || code == '.' || (code >= 0x2010 && code <= 0x2013)) && place + 1 < length
           && is_digit(characters[place + 1]) && !(place && is_word(characters[place - 1]));
}

static inline uint32_t small(uint32_t code) { return code - 'A' < 26u ? code + 32 : code; }

static inline void note_token(Tokens *found, uint8_t origin) {
    Token *token = found->tokens + found->count++;
    token->end = (uint32_t)found->used;
    token->origin = origin;
    token->begins_line = found->begins_line;
    found->begins_line = 0;
}

static inline void end_token(Tokens *found, uint8_t origin) {
    note_token(found, origin);
    found->bytes[found->used++] = ' ';
}

static void cut_kana(Tokens *found, const uint32_t *run, size_t length) {
    size_t start, place, size = length < 2 ? length : 2;
    for (start = 0; start + size <= length; start++) {
        uint8_t origin = FROM_HAN;
        for (place = start; place < start + size; place++) {
            found->used += put_utf8(found->bytes + found->used, CODE(run[place]));
            if (KIND(run[place]) == KANA) origin = FROM_KANA;
        }
        end_token(found, origin);
    }
}

/* Cut *length* normalized characters.  The caller has room for 9 bytes and 1 token for each of them,
 * and for 2 characters of Han.  A run of Han without kana is left to a dictionary. */
static void cut(const uint32_t *characters, size_t length, Tokens *found) {
    size_t place = 0, begin;
    while (place < length) {
        uint32_t kind = KIND(characters[place]);
        if (is_word(characters[place]) || begins_number(characters, place, length)) {
            for (begin = place; place < length; place++) {
                uint32_t character = characters[place];
                kind = KIND(character);
                if (kind == LETTER || kind == SIGN) {
                    if (kind == LETTER) found->has_words = 1;
                } else if (place > begin && !((character == '.' || character == ',' || character == ':')
                                              && is_digit(characters[place - 1]) && place + 1 < length
                             && is_digit(characters[place + 1])))
                    break;
                if (place > begin && (place - begin) % MOST_CHARACTERS == 0) end_token(found, FROM_SPACED);
                found->used += put_utf8(found->bytes + found->used, small(CODE(character)));
            }
            /* A single letter of ASCII keeps its case. */
            if (place == begin + 1 && CODE(characters[begin]) < 0x80)
                found->bytes[found->used - 1] = (uint8_t)CODE(characters[begin]);
            end_token(found, FROM_SPACED);
        } else if (kind == HAN || kind == KANA) {
            int has_kana = 0;
            found->has_words = 1;
            for (begin = place; place < length; place++) {
                kind = KIND(characters[place]);
                if (kind != HAN && kind != KANA) break;
                has_kana |= kind == KANA;
            }
            if (has_kana) {
                cut_kana(found, characters + begin, place - begin);
                continue;
            }
            if (found->han_used) found->han[found->han_used++] = '\n';
            while (begin < place) found->han[found->han_used++] = CODE(characters[begin++]);
            note_token(found, RUN_OF_HAN);
        } else
            found->begins_line |= CODE(characters[place++]) == '\n';
    }
}

/* Copy a text of ASCII with line breaks as spaces; returns 0 if it has other white space, or two in a row. */
static int spaced_ascii(const uint8_t *text, size_t length, uint8_t *out) {
    size_t place;
    uint8_t odd = 0;
    if (!length || text[0] <= ' ' || text[length - 1] <= ' ') return 0;
    out[0] = text[0];
    for (place = 1; place < length; place++) {
        uint8_t byte = text[place], is_break = byte == '\n';
        odd |= (uint8_t)((byte < ' ') & !is_break) | (uint8_t)((byte <= ' ') & (text[place - 1] <= ' '));
        out[place] = is_break ? ' ' : byte;
    }
    return !odd;
}

/* ---- Terms ---- */

/* Inverse document frequencies, sorted by the hash of their word.  The words whose hash
 * begins with the 16 bits b are those from starts[b] to starts[b + 1]. */
typedef struct {
    const uint64_t *hashes;
    const double *roots;
    const uint32_t *starts;
    double unknown;
} Frequencies;

static double root_of_idf(const Frequencies *table, uint64_t hash) {
    uint32_t place = table->starts[hash >> 48], end = table->starts[(hash >> 48) + 1];
    while (place < end && table->hashes[place] < hash) place++;
    return place < end && table->hashes[place] == hash ? table->roots[place] : table->unknown;
}

/* A run of bytes in a text, how often it occurs, and its hash. */
typedef struct {
    uint64_t hash;
    uint32_t begin, length, count;
    uint8_t origin, kind;
} Term;

static inline int is_sign(uint8_t byte) {
    return !(byte - '0' < 10u || byte == '_' || (uint8_t)(byte | 32) - 'a' < 26u);
}

/* What a token is in a pair of them: `dedup.prints.samples.kind_of`. */
enum { IN_NO_PAIR, NUMBER, DAY, YEAR, CODE, WORD };
static int is_day(const uint8_t *token, size_t length, size_t digits) {
    size_t place;
    int day = digits == 2 ? (token[0] - '0') * 10 + token[1] - '0' : token[0] - '0';
    if (digits > 2 || (length != digits && length != digits + 2)) return 0;
    for (place = 0; place < length; place++)
        if (place < digits ? token[place] - '0' >= 10u : (uint8_t)(token[place] | 32) - 'a' >= 26u) return 0;
    return day > 0 && day < 32;
}

static uint8_t kind_of(const uint8_t *token, size_t length) {
    size_t place, digits = 0, hexadecimals = 0, colons = 0, begin = 0, letters = 0;
    for (place = 0; place < length; place++) {
        digits += token[place] - '0' < 10u;
        hexadecimals += token[place] - 'a' < 6u;
        colons += token[place] == ':';
    }
    if (!digits) return WORD;
    if (digits == 4 && length == 4 && (!memcmp(token, "19", 2) || !memcmp(token, "20", 2))) return YEAR;
    if (hexadecimals && length >= 6 && digits + hexadecimals == length) return IN_NO_PAIR;
    while (is_sign(token[begin])) begin++;
    for (place = begin; place < length && (token[place] - '0' < 10u || token[place] == '.' || token[place] == ','
                                           || token[place] == ':'); place++) {
    }
    if (place == begin) return CODE;
    while (letters < 2 && place < length && (uint8_t)(token[place] | 32) - 'a' < 26u) place++, letters++;
    while (place < length && is_sign(token[place])) place++;
    return place < length ? CODE : colons ? IN_NO_PAIR : is_day(token, length, digits) ? DAY : NUMBER;
}

/* A table is looked at no more often than this for each entry; crafted hashes would need more. */
enum { LOOKS = 64 };

/* Find the different terms.  *places* has a power of two of entries, at least twice the number of tokens, all
 * of them 0; *numbers* receives the term of each token.  Returns how many terms there are, -1 for crafted ones. */
static int64_t terms_of(const uint8_t *bytes, const Token *tokens, size_t count, uint32_t *places,
                        size_t size, Term *terms, uint32_t *numbers) {
    size_t used = 0, token, looks = 0, most = LOOKS * (count + 64);
    uint32_t begin = 0;
    for (token = 0; token < count; token++) {
        uint32_t length = tokens[token].end - begin, number;
        uint64_t hash = murmur3(bytes + begin, length);
        size_t place = (size_t)(hash & (size - 1));
        while ((number = places[place])) {
            const Term *term = terms + number - 1;
            if (++looks > most) return -1;
            if (term->hash == hash && term->length == length && !memcmp(bytes + term->begin, bytes + begin, length))
                break;
            place = (place + 1) & (size - 1);
        }
        if (!number) {
            Term *term = terms + used;
            term->hash = hash;
            term->begin = begin;
            term->length = length;
            term->count = 0;
            term->origin = tokens[token].origin;
            term->kind = kind_of(bytes + begin, length);
            number = places[place] = (uint32_t)++used;
        }
        terms[number - 1].count++;
        numbers[token] = number - 1;
        begin = tokens[token].end + 1;
    }
    return (int64_t)used;
}

/* 1 + ln of a term's count, from numpy: logarithms may differ in their last bit. */
enum { MOST_COUNTS = 4096 };
static double DAMPED[MOST_COUNTS];

/* Fold terms by `sublinear_tf_idf`; *table* may be NULL where no term is of Han. */
static int fold_terms(const uint8_t *bytes, const Term *terms, size_t count,
                      const Frequencies *table, uint64_t *simhash) {
    Votes votes;
    size_t number;
    memset(&votes, 0, sizeof votes);
    *simhash = 0;
    for (number = 0; number < count; number++) {
        const Term *term = terms + number;
        double weight;
        if (term->count >= MOST_COUNTS) return UNUSUAL;
        weight = DAMPED[term->count];
        if (term->origin != FROM_SPACED && table)
            weight *= root_of_idf(table, term->hash);
        weight = rint(256 * weight);
        if (!(weight >= 0 && weight < 1 << 24)) return UNUSUAL;
        vote(&votes, term->hash, (int32_t)weight);
    }
    if (count) *simhash = simhash_of(&votes);
    return DONE;
}

/* ---- Shingles: `dedup.algorithms.sketch`, `dedup.prints.samples` ---- */

/* Sort by the bytes from *first* on, 0 or 4, the lowest of them first; *other* has room for as many. */
static void sort_bytes(uint64_t *values, uint64_t *other, size_t count, int first) {
    uint32_t counts[8][256], sum, next;
    size_t place;
    int byte, digit;
    memset(counts, 0, sizeof counts);
    for (place = 0; place < count; place++)
        for (byte = first; byte < 8; byte++) counts[byte][values[place] >> 8 * byte & 255]++;
    for (byte = first; byte < 8; byte++) {
        uint64_t *spare = values;
        for (digit = 0, sum = 0; digit < 256; digit++) {
            next = counts[byte][digit];
            counts[byte][digit] = sum;
            sum += next;
        }
        for (place = 0; place < count; place++) other[counts[byte][values[place] >> 8 * byte & 255]++] = values[place];
        values = other;
        other = spare;
    }
}

/* Sort hashes, in the same time whatever they are: the upper half orders nearly all that are different. */
static void sort(uint64_t *values, uint64_t *other, size_t count) {
    size_t place, next;
    if (count < 48) {
        for (place = 1; place < count; place++) {
            uint64_t value = values[place];
            for (next = place; next > 0 && values[next - 1] > value; next--) values[next] = values[next - 1];
            values[next] = value;
        }
        return;
    }
    sort_bytes(values, other, count, 4);
    for (place = 1; place < count && values[place - 1] <= values[place]; place++) {}
    if (place < count) sort_bytes(values, other, count, 0);
}

/* Write the sketch of *count* shingles, in any order, into *sketch* of 1 << *bits* bytes. */
static void sketch_of(const uint64_t *shingles, size_t count, int bits, uint8_t *sketch) {
    uint64_t smallest[256];
    size_t place, bins = (size_t)1 << bits;
    memset(smallest, 0xFF, sizeof smallest);
    memset(sketch, 0, bins);
    for (place = 0; place < count; place++) {
        size_t bin = (size_t)(shingles[place] >> (64 - bits));
        if (shingles[place] <= smallest[bin]) {
            smallest[bin] = shingles[place];
            sketch[bin] = 1;
        }
    }
    for (place = 0; place < bins; place++)
        if (sketch[place]) sketch[place] = (uint8_t)(smallest[place] % 255 + 1);
}

/* Return how many different ones there are of *shingles* in order; write the sample and its length. */
static size_t sample_of(const uint64_t *shingles, size_t count, uint32_t one_in, size_t most, uint32_t *sample,
                        size_t *length) {
    size_t place, different = 0, used = 0;
    for (place = 0; place < count; place++) {
        uint32_t value = (uint32_t)(shingles[place] >> 32);
        if (place && shingles[place] == shingles[place - 1]) continue;
        different++;
        if (shingles[place] & (one_in - 1) || used == most || (used && sample[used - 1] == value)) continue;
        sample[used++] = value;
    }
    *length = used;
    return different;
}

/* Write the hash of each run of *size* of the *count* hashes; returns how many there are. */
static size_t shingles_of(const uint64_t *hashes, size_t count, size_t size, uint64_t *shingles) {
    size_t place, offset;
    if (count < size) return 0;
    for (place = 0; place + size <= count; place++) {
        uint64_t hash = hashes[place];
        for (offset = 1; offset < size; offset++) hash = mixed(hash) * STEP + hashes[place + offset];
        shingles[place] = mixed(hash);
    }
    return count - size + 1;
}

/* What is in a pair: a number, or else a date or a code, or words alone. */
enum { OF_WORDS, OF_NUMBERS, OF_CODES };

/* Write a hash in the upper half of a pair, where its last two bits tell *what* is in it. */
static inline void write_pair(uint64_t hash, uint64_t what, uint64_t *pair) {
    *pair = mixed(hash) >> 34 << 34 | what << 32;
}

/* Write what `dedup.prints.samples.pairs` finds; returns how many there are, two for each token at most. */
static size_t pairs_of(const uint64_t *hashes, const Token *tokens, const Term *terms, const uint32_t *numbers,
                       size_t count, uint64_t *pairs) {
    size_t place, used = 0;
    for (place = 0; place < count; place++) {
        uint8_t kind = terms[numbers[place]].kind, next, third;
        int is_last = place + 1 == count || tokens[place + 1].begins_line;
        size_t other = is_last ? place : place + 1;
        uint64_t hash, what;
        next = terms[numbers[other]].kind;
        if (kind == IN_NO_PAIR || next == IN_NO_PAIR || (is_last && !tokens[place].begins_line)) continue;
        hash = mixed(hashes[place]) * STEP + hashes[other];
        what = kind < CODE || next < CODE ? OF_NUMBERS : kind == CODE || next == CODE ? OF_CODES : OF_WORDS;
        write_pair(hash, what, pairs + used++);
        if (kind >= CODE || is_last || place + 2 >= count || tokens[place + 2].begins_line) continue;
        third = terms[numbers[place + 2]].kind;
        what = next >= CODE && (kind == YEAR || third == YEAR) && kind != NUMBER && third != NUMBER ? OF_CODES
                                                                                               : OF_NUMBERS;
        if (third != IN_NO_PAIR && third < CODE)
            write_pair(mixed(hash) * STEP + hashes[place + 2], what, pairs + used++);
    }
    return used;
}

/* ---- Structure: `dedup.algorithms.structure.hashed_runs` ---- */

typedef struct {
    uint64_t run;
    int32_t depth; /* 1 more than it is, 0 for an empty place */
} Run;

/* Fold the runs of *size* tags.  *places* has a power of two of entries, at least twice the number of tags, all
 * of them empty; *weights* has one for each depth up to *deepest*. */
static int fold_tags(const uint64_t *hashes, const int32_t *depths, size_t count, size_t size, const int32_t *weights,
                     int32_t deepest, Run *places, size_t places_size, uint64_t *simhash) {
    size_t start, offset, looks = 0, most = LOOKS * (count + 64), place;
    Votes votes;
    *simhash = 0;
    if (!count) return DONE;
    for (start = 0; start + size <= count; start++) {
        uint64_t run = hashes[start];
        int32_t depth = depths[start];
        for (offset = 1; offset < size; offset++) {
            run = mixed(run) * STEP + hashes[start + offset];
            if (depths[start + offset] < depth) depth = depths[start + offset];
        }
        run = mixed(run);
        place = (size_t)(run & (places_size - 1));
        while (places[place].depth && places[place].run != run) {
            if (++looks > most) return UNUSUAL;
            place = (place + 1) & (places_size - 1);
        }
        if (!places[place].depth || depth + 1 < places[place].depth) places[place].depth = depth + 1;
        places[place].run = run;
    }
    memset(&votes, 0, sizeof votes);
    for (place = 0; place < places_size; place++) {
        int32_t depth = places[place].depth - 1;
        if (depth >= 0) vote(&votes, places[place].run, weights[depth > deepest ? deepest : depth]);
    }
    *simhash = simhash_of(&votes);
    return DONE;
}

/* ---- Long tags: `dedup.reading.floods` ---- */

static inline int is_space(uint8_t byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }

/* Blank each > between an = with a quotation mark behind it, and the mark that closes it, if one of them stands
 * before the second mark. */
static void blank_quoted(uint8_t *markup, size_t length, uint8_t quote) {
    size_t place = 0, next;
    while (place < length) {
        uint8_t *found = (uint8_t *)memchr(markup + place, '=', length - place);
        if (!found) return;
        place = (size_t)(found - markup) + 1;
        for (next = place; next < length && is_space(markup[next]); next++) {}
        if (next == length || markup[next] != quote) continue;
        for (next++; next < length && markup[next] != quote && markup[next] != '>'; next++) {}
        if (next == length || markup[next] == quote) continue;
        for (; next < length && markup[next] != quote; next++)
            if (markup[next] == '>') markup[next] = ' ';
        place = next;
    }
}

/* Return whether a tag may be longer than *longest*; changes *markup*. */
static int has_long_tag(uint8_t *markup, size_t length, size_t longest) {
    size_t begin = 0, end, place;
    blank_quoted(markup, length, '"');
    blank_quoted(markup, length, '\'');
    for (; begin < length; begin = end + 1) {
        uint8_t *found = (uint8_t *)memchr(markup + begin, '>', length - begin);
        end = found ? (size_t)(found - markup) : length;
        if (end - begin <= longest) continue;
        for (place = begin; place + 1 < end; place++) {
            uint8_t next = markup[place + 1];
            if (markup[place] == '<' && (((next | 32) >= 'a' && (next | 32) <= 'z') || next == '_' || next == ':')) {
                if (end - place > longest) return 1;
                break;
            }
        }
    }
    return 0;
}
