"""Sloppy pages: in each shape a header of the site, and somewhere words that no other page has."""

from __future__ import annotations

from html import escape

HEADER = (
    "<div class=site><a href=/>The lantern keepers of Tallow Bay</a> write here on lamps, tides, ropes "
    "and all that is washed ashore, every other week since the year of the great storm</div>"
)
BEGIN = f"<html><head><title>Tallow Bay</title></head><body>{HEADER}"
NOTICE = "<noscript>Please enable JavaScript to run this page.</noscript>"

SHAPES: dict[str, str] = {
    "behind the end": BEGIN + "</body></html><div><p>{words}</p></div>",
    "plain text behind the end": BEGIN + "</body></html>{words}",
    "the end in an open element": BEGIN + "<div><section></html><p>{words}</p></section></div>",
    "the end in a cell": BEGIN + "<table><tr><td>Cell</html><p>{words}</p></td><td>c</td></tr></table>",
    "two documents": BEGIN + "</body></html><!DOCTYPE html><html><head><title>t</title></head>"
    "<body><p>{words}</p></body></html>",
    "three documents and comments": BEGIN + "</html><!-- --><html><body></body></html><!-- -->"
    "<html><body><p>{words}</p></body></html>",
    "an end before the body": f"<html><head></head></html><body>{HEADER}<p>{{words}}</p></body>",
    "no body and no end of the head": f"<!doctype html><title>Tallow Bay</title><main>{HEADER}"
    "<p>{words}</p></main>",
    "no body and a head that is empty": f"<meta charset=utf-8><section>{HEADER}</section>"
    "<article>{words}</article>",
    "noscript": BEGIN + "<div id=app></div><noscript><p>{words}</p></noscript></body></html>",
    "noscript in the head": f"<head><noscript><p>{{words}}</p></noscript></head><body>{HEADER}",
    "noscript without an end": BEGIN + "<noscript><img src=x><p>{words}</p></body></html>",
    "a shadow tree": BEGIN
    + NOTICE
    + "<x-post><template shadowrootmode=open><p>{words}</p></template></x-post>",
    "a template": BEGIN + "<template><p>{words}</p></template>",
    "a drawing": BEGIN + "<svg><title>Chart</title><g><text>{words}</text></g></svg>",
    "what is told about a drawing": BEGIN + "<svg><desc>{words}</desc><path d=''/></svg>",
    "a foreign object": BEGIN + "<svg><foreignObject><p>{words}</p></foreignObject></svg>",
    "noframes": BEGIN + "<noframes><p>{words}</p></noframes>",
    "an inner frame": BEGIN + "<iframe src=/x><p>{words}</p></iframe>",
    "an inner frame that ends itself": BEGIN + "<iframe src=x/><p>{words}</p></body></html>",
    "an inner frame with its source": BEGIN
    + '<iframe srcdoc="<style>p {{}}</style><p>{words}</p>"></iframe>',
    "a video that ends itself": BEGIN + "<video src=x/><p>{words}</p></body></html>",
    "in a canvas": BEGIN + "<canvas><p>{words}</p></canvas>",
    "a list of choices": BEGIN + "<input list=x><datalist id=x><option>{words}</datalist>",
    "a title in the body": BEGIN + "<p>Post</p><title>{words}</title>",
    "text fields": BEGIN + "<textarea>{words}</textarea>",
    "a comment for browsers of old": BEGIN + "<!--[if !IE]><!--><p>{words}</p><!--<![endif]-->",
    "plain text to the end": BEGIN + "<plaintext>{words}",
    "an example": BEGIN + "<xmp>{words}</xmp>",
    "forms in forms": BEGIN + "<form><form><p>{words}</form></form>",
    "an object": BEGIN + "<object data=/x><embed src=/x><p>{words}</p></object>",
    "too deep": BEGIN + "<div>" * 3000 + "<p>{words}</p></body></html>",
}


def shaped(shape: str, words: str) -> str:
    """Return the page of that shape with *words*, which are letters, digits and spaces."""
    assert escape(words) == words
    return SHAPES[shape].format(words=words)
