"""Bytes of a page to text, by their actual encoding rather than the one that is declared."""

from __future__ import annotations

from w3lib.encoding import read_bom, resolve_encoding

# It is written in ASCII, so it would pass for UTF-8; a page without these signs is none in it.
_SEVEN_BITS, _SHIFT = "iso2022_jp", b"\x1b"
# Enough to detect an encoding, and little enough that a page of 20 MB takes no longer.
_SAMPLE = 64 * 1024
# A declaration is believed while at most this share of the non-ASCII bytes cannot be decoded.
_MAX_BROKEN = 0.02


def decode(body: bytes, declared: str | None = None) -> str:
    """Return the text of *body*; never raises, bytes that fit no encoding become U+FFFD.

    In this order: a byte order mark, valid UTF-8 (unless it declares ISO-2022-JP), *declared* (the HTTP
    header's charset), the page's own declaration, a guess from the bytes.  Encodings are read
    as the web reads them: gb2312 and gbk as gb18030, latin-1 as windows-1252.
    """
    encoding = encoding_of(body, declared)
    return body.decode(encoding, "replace").removeprefix("\ufeff")


def encoding_of(body: bytes, declared: str | None = None) -> str:
    """Return the name of the codec that `decode` uses."""
    marked, _ = read_bom(body)
    if marked:
        return marked
    if is_utf8(body):
        return _SEVEN_BITS if is_shifted(body, declared) else "utf-8"
    for name in (declared, _own_declaration(body)):
        encoding = resolve_encoding(name) if name else None
        if encoding and _fits(body, encoding):
            return encoding
    return _guess(body)


def is_utf8(body: bytes) -> bool:
    """Return whether *body* is valid UTF-8."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_shifted(body: bytes, declared: str | None = None) -> bool:
    """Return whether *body* is ISO-2022-JP, and says so or is *declared* so."""
    if _SHIFT not in body or not body.isascii():
        return False
    names = filter(None, (declared, _own_declaration(body)))
    return any(resolve_encoding(name) == _SEVEN_BITS for name in names) and _fits(body, _SEVEN_BITS)


def _own_declaration(body: bytes) -> str | None:
    from bs4.dammit import EncodingDetector  # few pages need it, and it takes a tenth of a second

    return EncodingDetector.find_declared_encoding(body[:_SAMPLE], is_html=True)


def _fits(body: bytes, encoding: str) -> bool:
    sample = body[:_SAMPLE]
    try:
        text = sample.decode(encoding, "replace")
    except (LookupError, UnicodeError, ValueError):
        return False
    if not text:  # punycode, on Python 3.13: none of a text
        return False
    broken = text.count("\ufffd")
    ascii_bytes = len(sample.decode("ascii", "ignore"))
    return broken <= 1 + _MAX_BROKEN * (len(sample) - ascii_bytes)


def _guess(body: bytes) -> str:
    from bs4.dammit import UnicodeDammit

    guessed = UnicodeDammit(body[:_SAMPLE], is_html=True).original_encoding
    return (resolve_encoding(guessed) if guessed else None) or "cp1252"
