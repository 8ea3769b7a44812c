"""Addresses in HTML and CSS, found and replaced."""

from __future__ import annotations

import html.parser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.archives.capture import references
from perdure.archives.capture.references import (
    Address,
    find_addresses,
    replace_in_css,
    replace_in_html,
    resolve_address,
)
from perdure.extractors.markup import tags

THERE = "/replay/2016/http://www.dr.dk"
BASE = "http://www.dr.dk/nyheder/index.html"


def moved(address: Address) -> str:
    return f"/replay/2016/{address.uri}"


def html_of(text: str) -> str:
    return replace_in_html(text.encode(), BASE, moved).decode()


def found(text: str) -> list[tuple[str, str]]:
    return [(one.role, one.uri) for one in find_addresses(text.encode(), BASE, css=False)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('<a href="b">', '<a href="/replay/2016/http://www.dr.dk/nyheder/b">'),
        ("<a href=b>", '<a href="/replay/2016/http://www.dr.dk/nyheder/b">'),
        ("<A HREF='/b?x=1&amp;y=2' >", '<A HREF="/replay/2016/http://www.dr.dk/b?x=1&amp;y=2" >'),
        ('<a href="#top">', '<a href="#top">'),
        ('<img src="//x.dk/a.gif">', '<img src="/replay/2016/http://x.dk/a.gif">'),
        ("<img src=>", "<img src=>"),
        (
            '<img srcset="a.gif 1x, b.gif 2x">',
            f'<img srcset="{THERE}/nyheder/a.gif 1x, {THERE}/nyheder/b.gif 2x">',
        ),
        (
            '<p style="background: url(&quot;x.png&quot;)">',
            '<p style="background: url(&quot;/replay/2016/http://www.dr.dk/nyheder/x.png&quot;)">',
        ),
        (
            "<style>a{background:url(x.png)}</style>",
            '<style>a{background:url("/replay/2016/http://www.dr.dk/nyheder/x.png")}</style>',
        ),
        (
            '<meta http-equiv="refresh" content="5; url=http://b.dk/">',
            '<meta http-equiv="refresh" content="5; url=/replay/2016/http://b.dk/">',
        ),
        (
            '<meta http-equiv="Content-Security-Policy" content="default-src x">',
            '<meta http-equiv="x-archived" content="default-src x">',
        ),
        (
            '<base href="/other/"><a href="c">',
            '<base ><a href="/replay/2016/http://www.dr.dk/other/c">',
        ),
        ('<a ping="http://x.dk/" href="">', '<a  href="">'),
        ('<link integrity="sha256-x" rel=x>', "<link  rel=x>"),
        ("<script>var a = '<a href=\"b\">'</script>", "<script>var a = '<a href=\"b\">'</script>"),
        ('<!-- <a href="b"> -->', '<!-- <a href="b"> -->'),
        ("<p>&amp; <b title='a'>", "<p>&amp; <b title='a'>"),
        ('<form action="http://x.dk/s">', '<form action="/replay/2016/http://x.dk/s">'),
        (
            "<iframe srcdoc='<a href=&quot;/b&quot;>'>",
            '<iframe srcdoc="&lt;a href=&quot;/replay/2016/http://www.dr.dk/b&quot;&gt;">',
        ),
    ],
)
def test_addresses_are_replaced_and_nothing_else(written: str, expected: str) -> None:
    assert html_of(written) == expected


def test_roles() -> None:
    text = """<link rel=stylesheet href=a.css><link rel=canonical href=/c><link rel="icon" href=i>
    <script src=s.js></script><iframe src=f.html></iframe><a href=l><svg><use xlink:href="u.svg">"""
    base = "http://www.dr.dk/nyheder/"
    assert found(text) == [
        ("style", f"{base}a.css"),
        ("link", "http://www.dr.dk/c"),
        ("resource", f"{base}i"),
        ("resource", f"{base}s.js"),
        ("frame", f"{base}f.html"),
        ("link", f"{base}l"),
        ("resource", f"{base}u.svg"),
    ]


def test_style_sheets() -> None:
    text = """@import "a.css"; @import url('b.css'); p { background: URL( "c.png" ) }
    /* url(d.png) */ q { src: url(data:font/woff;base64,AAAA) }"""
    made = replace_in_css(text.encode(), BASE, lambda one: f"<{one.role}>").decode()
    assert made.count("%3Cstyle>") == 2
    assert made.count("%3Cresource>") == 2
    assert "/* url(d.png) */" in made


# CSS Syntax section 4.3.4 to 4.3.7 (strings, urls, escapes); CSS Images 4 section 2.3 (image-set)
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("url( 'd (1).png' )", [("resource", "d%20(1).png")]),
        (r"url(e\ f\).png)", [("resource", "e%20f).png")]),
        (r'url("a\22 b.png")', [("resource", 'a"b.png')]),
        (r'url("\0 x.png")', [("resource", "%EF%BF%BDx.png")]),
        ("url(a b.png)", []),
        ('image-set("a.png" 1x, "b.png" 2dppx)', [("resource", "a.png"), ("resource", "b.png")]),
        ('a { content: "x" } b { content: "y" }', []),
        ('@import url("a b.css") screen;', [("style", "a%20b.css")]),
        ('/* image-set("a.png" 1x) */', []),
    ],
)
def test_addresses_in_style_sheets(written: str, expected: list[tuple[str, str]]) -> None:
    data = f"<style>p {{ background: {written} }}</style>".encode()
    for css, text in ((True, written.encode()), (False, data)):
        named = find_addresses(text, "http://a.dk/", css=css)
        assert [(one.role, one.uri.removeprefix("http://a.dk/")) for one in named] == expected


def test_a_document_in_utf_16_is_read_and_left_as_it_is() -> None:
    data = '<img src="ø.png">'.encode("utf-16")
    named = [one.uri for one in find_addresses(data, "http://a.dk/", css=False)]
    assert named == ["http://a.dk/%C3%B8.png"]
    assert replace_in_html(data, BASE, moved) == data


@pytest.mark.parametrize(
    "written",
    [
        "http://[",
        "http://a\nb/",
        'x"><script>alert(1)</script>',
        "x' onload='alert(1)",
        "http://ø.dk/æ",
        "\ud800",
    ],
)
def test_no_address_breaks_out(written: str) -> None:
    """Python's parser reads the result: one tag, one attribute, no script."""
    seen: list[tuple[str, list[tuple[str, str | None]]]] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append((tag, attrs))

    document = f'<a href="{html.escape(written)}">'.encode("utf-8", "surrogatepass")
    made = replace_in_html(document, BASE, moved)
    Reader().feed(made.decode("utf-8", "replace"))
    assert [(tag, [name for name, _ in attrs]) for tag, attrs in seen] == [("a", ["href"])]
    assert (resolve_address(BASE, written) or "").isascii()


@given(st.binary(max_size=300), st.sampled_from([b"<a href=", b"<style>", b"<img srcset='", b""]))
def test_any_bytes_go_through(data: bytes, before: bytes) -> None:
    for document in (before + data, data + before):
        replace_in_html(document, BASE, moved)
        replace_in_css(document, BASE, moved)
        assert replace_in_html(document, BASE, lambda one: one.uri).count(b"\0") >= 0


def test_documents_without_addresses_stay_as_they_are() -> None:
    for data in (b"", b"\xff\xfe<\0a\0 \0h\0r\0e\0f\0=\0x\0>\0", b"<p class='x'>\xe6\xf8\xe5</p>"):
        assert replace_in_html(data, BASE, moved) == data


def test_the_worst_that_is_read_ends_soon() -> None:
    """Hours, if anything tried again and again: the test would not end."""
    spaces = b" " * 100_000
    for document in (
        b"<meta http-equiv=refresh content='" + spaces + b"'>",
        b"<img srcset='" + b"( " * 100_000 + b"'>",
        b"<style>" + b"url(" * 100_000 + b"url( " + spaces + b"</style>",
        b"<a href='" + b"../" * 100_000 + b"'>",
        b"<style>" + b"url('\\" * 100_000 + b"</style>",
        b"<style>" + b"'\"" * 100_000 + b"</style>",
        b"<iframe srcdoc='" + b"<iframe srcdoc=&apos;" * 50_000 + b"'>",
    ):
        replace_in_html(document, BASE, moved)


def test_what_is_empty_in_svg_hides_nothing_behind_it() -> None:
    """HTML Standard section 13.2.6.5: a self-closing `script` or `title` in SVG has no text."""
    for name in ("script", "style", "title", 'script href="x.js"'):
        data = f"<svg><{name}/><a href=/b></svg><style>p{{background:url(/c)}}</style>".encode()
        found = [one.uri for one in find_addresses(data, "http://a.dk/", css=False)]
        assert found[-2:] == ["http://a.dk/b", "http://a.dk/c"]
    outside = b"<title/><a href=/b></title><a href=/c>"  # in HTML it begins a text
    found = [one.uri for one in find_addresses(outside, "http://a.dk/", css=False)]
    assert found == ["http://a.dk/c"]


def test_looking_again_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(data: bytes, *more: Any) -> tags.Tags:
        looked.append(len(data))
        return tags.scan_tags(data, *more)

    monkeypatch.setattr(references, "scan_tags", counted)
    data = b"<svg>" + b"<title/>" * 1000 + b"<a href=/b>"
    assert replace_in_html(data, BASE, moved).startswith(b"<svg><title/>")
    assert len(looked) == 16


@pytest.mark.parametrize(
    ("charset", "codec"), [("windows-1251", "cp1251"), ("KOI8-R", "koi8_r"), ("utf-8", "utf-8")]
)
def test_letters_are_those_of_the_document(charset: str, codec: str) -> None:
    """URL Standard section 4.4: a path is in UTF-8, a query in the encoding of the document."""
    text = '<base href="/ж/"><img src="ы.png?ы=&eacute;">'
    query = "".join(f"%{byte:02X}" for byte in "ы".encode(codec))
    expected = [("resource", f"http://www.dr.dk/%D0%B6/%D1%8B.png?{query}=%C3%A9")]
    meta = f"<meta charset={charset}>{text}".encode(codec)
    by_server = find_addresses(text.encode(codec), BASE, css=False, charset=charset)
    assert [(one.role, one.uri) for one in by_server] == expected
    declared = find_addresses(meta, BASE, css=False)
    assert [(one.role, one.uri) for one in declared] == expected


def test_letters_of_no_known_charset_stay_the_bytes_that_they_are() -> None:
    [one] = find_addresses(b"<meta charset=klingon><img src=\xfb>", BASE, css=False)
    assert one.uri == "http://www.dr.dk/nyheder/%FB"


def test_only_addresses_change_in_a_document_of_another_charset() -> None:
    text = '<meta charset=koi8-r><p title="ы">ы<a href="ы">'
    assert replace_in_html(text.encode("koi8_r"), BASE, moved) == text.replace(
        'href="ы"', 'href="/replay/2016/http://www.dr.dk/nyheder/%D1%8B"'
    ).encode("koi8_r")
