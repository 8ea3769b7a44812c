"""Canonical keys: those of `surt` 0.3.1, whatever the URL, and in linear time."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import surt  # type: ignore[import-untyped]  # it has no types
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.ids.urlkey import make_url_key

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"

PIECES = st.sampled_from(
    (
        *("http://", "https://", "HTTP://", "dns:", "ftp://", "mailto:", "http:", "metadata://"),
        *("www.", "www2.", "WWW.", "example", "Com", ".", "..", "/", "//", "/./", "/../"),
        *("?", "&", "=", "#", ":", ":80", ":443", ":8080", "@", "u:p@", "[::1]", "[", "]"),
        *("a", "B", "1", "0", "127.0.0.1", "017.1", "3232235777", "é", "日", " ", "\t", "\x0b"),
        *("%20", "%2520", "%25", "%", "%4", "%c3%a9", "%0a", "%2f", "%3f", "%23"),
        *("(a(abcdefghijklmnopqrstuvwx))/", "(abcdefghijklmnopqrstuvwx)/", "x.aspx"),
        *("sid=", "jsessionid=", "PHPSESSID=", "a1" * 16, "ASPSESSIONIDabcdefgh="),
        *("abcdefghijklmnopqrstuvwx", "cfid=", "cftoken=", "\\", "~", "!", "'", "-", "_", ";", "+"),
    )
)
URLS = st.builds(
    "{}{}".format, st.sampled_from(("http://", "https://", "")), st.lists(PIECES).map("".join)
)


def of_digits(host: bytes) -> tuple[bytes, list[str], list[str]]:
    """What `surt` asks a name server: an address of another form. No test asks one."""
    try:
        return host, [], [socket.inet_ntoa(socket.inet_aton(host.decode()))]
    except OSError as error:
        raise socket.gaierror(str(error)) from error


@pytest.fixture(scope="module", autouse=True)
def no_name_server() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "gethostbyname_ex", of_digits)
        yield


def is_url(url: str) -> bool:
    """Whether `surt` has a key for it; it raises all kinds of errors where it has none."""
    try:
        surt.surt(url)
    except (ValueError, AttributeError, AssertionError, TypeError):
        return False
    return True


@settings(max_examples=1500)
@given(URLS)
def test_keys_are_those_of_surt(url: str) -> None:
    if is_url(url) and "%0a" not in url.lower():  # surt takes `1%0A` for an address
        assert make_url_key(url) == surt.surt(url)
    else:
        make_url_key(url)


@pytest.mark.parametrize(
    "url",
    [
        "example.org",
        " http://EXAMPLE.org/a b\t",
        "http://https://example.org/",
        "http:/example.org/a",
        "http://user:secret@example.org:8080/",
        "http://example.org:80/",
        "https://example.org:443/",
        "https://example.org:80/",
        "http://[::1]:8080/a",
        "http://www2.example.org/",
        "dns:www.example.org",
        "mailto:a@example.org",
        "filedesc://a.arc.gz",
        "http://exämple.org/é",
        "http://a..example.org./",
        "http://3232235777/",
        "http://1.65536/",
        "http://0300.0250.1/",
        "http://256.1.1.1/",
        "http://1.09/",
        "http://example.org/a/./b/../c//d/",
        "http://example.org/../..",
        "http://example.org/%2541%C3%A9%7e",
        "http://example.org/" + "%25" * 30 + "41",
        "http://example.org/(a(abcdefghijklmnopqrstuvwx))/page.aspx",
        "http://example.org/(abcdefghijklmnopqrstuvwx)/page.aspx?a",
        "http://example.org/(abcdefghijklmnopqrstuvwx)/page.html",
        "http://example.org/?b=2&a=1&A=0",
        "http://example.org/?",
        "http://example.org/?a",
        "http://example.org/?x=1&PHPSESSID=" + "a1" * 16 + "&y=2",
        "http://example.org/?jsessionid=" + "a1" * 16,
        "http://example.org/?cfid=1&cftoken=2&x=3",
        "http://example.org/?x=3&cfid=1&cftoken=2",
        "http://example.org/#part",
    ],
)
def test_each_rule_by_example(url: str) -> None:
    """The judge is `surt`, for the usual texts of each rule."""
    assert make_url_key(url) == surt.surt(url)


@pytest.mark.parametrize("url", ["", "http://example.org:99999/", "http://example.org:8x/"])
def test_texts_that_are_not_urls_have_a_key(url: str) -> None:
    assert re.fullmatch("[!-~]+", make_url_key(url))


NUMBERS = st.integers(0, 2**33).flatmap(
    lambda number: st.sampled_from((f"{number}", f"0{number:o}", f"0{number}", f"00{number:o}"))
)


@given(st.lists(NUMBERS, min_size=1, max_size=4).map(".".join))
@example("1.2")
@example("1.2.3")
@example("256.1.1.1")
@example("1.0777")
@example("1.09")
@example("1.65536.1")
@example("0.0.0.0")
@example("1.2.3.400000000000000")
def test_digits_are_read_as_the_library_of_c_does(host: str) -> None:
    """The judge is `inet_aton` of the C library. A sole number wraps around, as in `surt`."""
    if "." not in host:
        return
    try:
        dotted = socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        dotted = host
    assert make_url_key(f"http://{host}/") == f"{','.join(reversed(dotted.split('.')))})/"


SESSION = "a1" * 16
EXAMPLES = [
    "http://a.example//b",
    "http://a.example/./b/../c/.hidden",
    "http://a.example/../../b",
    "http://a.example/..",
    "http://a.example/a//b/",
    f"http://a.example/?jsessionid={SESSION}",
    f"http://a.example/?x=1&sid={SESSION}&y=2",
    f"http://a.example/?x=1&phpsessid={SESSION}",
    "http://a.example/?cfid=1234&cftoken=5678&x=1",
    "http://a.example/?x=1&aspsessionidabcdefgh=" + "a" * 24,
    "http://a.example/(S(4hqa0555fwsecu455xqckv45))/page.aspx",
    "http://a.example/(4hqa0555fwsecu455xqckv45)/page.aspx?x=(y)/z.aspx",
    "http://a.example/(4hqa0555fwsecu455xqckv45)/page.html",
    "http://a.example/(short)/page.aspx",
    "http://user:secret@www2.A.Example:8080/",
    "http://[2001:db8::1]:8080/x",
    "http://a.example:0080/",
    "https://a.example:443/?",
    "https://a.example:444/?",
    "http://a.example:/",
    "http://a..example./",
    "http://http://a.example/",
    "http:a.example/b",
    "http:///a.example/b",
    "a.example/b?b=2&a=1",
    "dns:www.a.example",
    "mailto:ann@a.example",
    "ftp://www.a.example/x",
    "http://b\u00fccher.example/\u00e9?\u00e9",
    "http://a.example/%41%2f%25%2541%zz",
    "http://a.example/ b\n",
    "http://a.example/%2525252541%252525zz%25252525",
    "http://a.example/?cfid=1&x=2&cftoken=3&cftoken=",
    "http://a.example?q",
    "http://127.1/",
    "http://0177.1/",
    "http://1.2.3/",
    "http://256.1.1.1/",
    "http://1.09/",
    "http://3232235777/",
    "http://0.0.0.0/x",
    "http://1.4294967296/",
    "http://1.2.3.000000000000000000001/",
    "http://1.2.3.100000000000000000000/",
    "http://08.1/",
]


@pytest.mark.parametrize("url", EXAMPLES, ids=ascii)
def test_examples_have_the_keys_of_surt(url: str) -> None:
    assert make_url_key(url) == surt.surt(url)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "-"),
        ("filedesc:a.arc", "filedesc:a.arc"),
        ("filedesc://a b", "filedesc://a%20b"),
        ("http://a:99999/", "http://a:99999/"),
        ("http://a:x/", "http://a:x/"),
        ("http://a.example/" + "b" * 9, "example,a)/" + "b" * 9),
        ("urn:x:Y", "urn:x:y"),
    ],
)
def test_texts_for_which_surt_has_no_rule(text: str, key: str) -> None:
    assert make_url_key(text) == key


@settings(max_examples=300)
@given(st.text())
def test_any_text_has_a_key_without_blanks_and_control_characters(text: str) -> None:
    assert re.fullmatch("[!-~]+", make_url_key(text))


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["cdx_iana.cdx", "cdx_example.cdx", "cdxj_example.cdxj"])
def test_keys_of_indexes_that_others_wrote(name: str) -> None:
    """Each line has a key and the URL that it is of."""
    [path] = CORPUS.glob(f"*pywb__sample_archive_{name}")
    lines = re.findall(
        r'^(\S+) \d{14} (?:\{"url": "([^"]+)"|(\S+))', path.read_text("utf-8"), re.MULTILINE
    )
    assert lines
    for key, url, other in lines:
        assert make_url_key(url or other) == key


@pytest.mark.growth
@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/" + "%25" * 20_000,
        "http://example.org/?" + "cfid=" * 20_000,
        "http://example.org/?" + "sid=" * 20_000,
        "http://example.org/?" + "&cftoken=1" * 20_000,
        "http://example.org/" + "(abcdefghijklmnopqrstuvwx)/" * 4000 + "?.aspx",
        "http://example.org/" + "(abcdefghijklmnopqrstuvwx)/" * 4000 + "%3f.aspx",
        "http://example.org/" + "../" * 30_000,
        "http://" + "a." * 40_000,
        "http://" * 20_000,
        "http://" + "1" * 100_000,
        "a" * 50_000 + ":" * 50_000,
    ],
    ids=lambda url: url[:40],
)
def test_work_grows_with_the_length_only(url: str) -> None:
    """Counted in calls, not in seconds: twice as long a URL takes about twice as many."""
    assert calls(url + url[-len(url) // 2 :]) < 4 * calls(url) + 100


def calls(url: str) -> int:
    count = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        make_url_key(url)
    finally:
        sys.setprofile(None)
    return count
