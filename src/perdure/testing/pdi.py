"""Texts and values of `perdure.ids.pdi` for property tests."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from perdure.ids.pdi import Pdi, parse_pdi

# components, in any spelling
# ---------------------------

_COMPONENT = st.text("abcxyzABCXYZ0189-", min_size=1, max_size=6)
_COUNTRY = st.sampled_from(("us", "US", "fr", "gov", "museum"))


@cache
def series_names() -> st.SearchStrategy[str]:
    """Document series."""
    components = st.lists(_COMPONENT, min_size=1, max_size=3)
    return st.builds(lambda names, country: ".".join((*names, country)), components, _COUNTRY)


@cache
def _spell_number(number: int) -> st.SearchStrategy[str]:
    return st.sampled_from((f"{number}", f"{number:02}"))


@cache
@st.composite
def existing_days(draw: st.DrawFn) -> str:
    """Existing days, `YYYY/MM/DD`, padded or not, also after the year 9999."""
    day = draw(st.dates())
    later = draw(st.sampled_from((0, 0, 0, 10_000, 400 * 10**9)))
    year = f"{day.year + later:04}"
    if draw(st.booleans()):
        year = f"0{year}"
    return f"{year}/{draw(_spell_number(day.month))}/{draw(_spell_number(day.day))}"


@cache
@st.composite
def patterns_of_days(draw: st.DrawFn) -> str:
    """Days with a wildcard for at least one component."""
    day = draw(existing_days()).split("/")
    wild = draw(st.sets(st.integers(0, 2), min_size=1))
    return "/".join("*" if at in wild else component for at, component in enumerate(day))


@cache
def serial_numbers() -> st.SearchStrategy[str]:
    """Serial numbers of any length."""
    return st.integers(min_value=1).map(str) | st.from_regex("[1-9][0-9]{20,60}", fullmatch=True)


_ESCAPES = st.sampled_from([f"%{octet:02{case}}" for octet in range(256) for case in "xX"])


def _character_runs(characters: str) -> st.SearchStrategy[str]:
    pieces = st.sampled_from(characters) | _ESCAPES
    return st.lists(pieces, min_size=1, max_size=8).map("".join)


@cache
def foreign_urls() -> st.SearchStrategy[str]:
    """URLs in spellings that RFC 3986 section 6.2.2 makes equal."""
    return st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(("http", "https", "HTTP", "Https")),
        st.sampled_from(("example.org", "WWW.Example.org:80", "u%41%7e@EXAMPLE.org", "%65x.org")),
        st.lists(
            st.sampled_from(("", ".", "..", "a", "b%2f", "%7Ejcma", "%2e%2E", "C")), max_size=5
        ).map(lambda segments: "".join(f"/{segment}" for segment in segments)),
        st.sampled_from(("", "?", "?a=%3a&b=../c", "#%41")),
    )


@cache
def unique_ids() -> st.SearchStrategy[str]:
    """Unique-ids: serial numbers, digits, names, encapsulated identifiers."""
    return st.one_of(
        serial_numbers(),
        st.text("0123456789", min_size=1, max_size=5),
        _character_runs("abcXYZ019()-:;$_!'"),
        foreign_urls().map(Pdi.encapsulate),
    )


@cache
def format_names() -> st.SearchStrategy[str]:
    """Formats, among them some that imply a fragment scheme."""
    token = st.sampled_from(("text", "TEXT", "html", "Gif", "au", "mpeg", "pdf", "svg%2Bxml"))
    return (
        token
        | _character_runs("abcXYZ019-_")
        | st.builds("{}+{}".format, token, _character_runs("abcXYZ019-_"))
    )


@cache
def version_numbers() -> st.SearchStrategy[str]:
    """Versions, with and without leading zeros."""
    zeros = st.sampled_from(("", "", "0", "00"))
    return st.builds("{}{}".format, zeros, st.integers(1, 10**16 - 1))


# fragments and citations
# -----------------------

_SPECIFIER = _character_runs("abcXYZ019-:;$_!'./*?+")


@cache
def position_lists() -> st.SearchStrategy[str]:
    """One position, or a list of them in parentheses."""
    listed = st.lists(_SPECIFIER, min_size=1, max_size=3).map(lambda those: f"({','.join(those)})")
    return _SPECIFIER | listed


_INTERVAL = st.lists(st.integers(0, 10**18 - 1), min_size=2, max_size=2).map(
    lambda ends: "{},{}".format(*sorted(ends))
)


def _write_corners(across: str, down: str) -> str:
    (left, right), (top, bottom) = across.split(","), down.split(",")
    return f"({left},{top}),({right},{bottom})"


_CORNERS = st.builds(_write_corners, _INTERVAL, _INTERVAL)


@cache
def fragment_specifiers() -> st.SearchStrategy[str]:
    """Fragment specifiers with their scheme, without the `#`."""
    return st.one_of(
        st.builds(
            "{}={}".format,
            st.sampled_from(("char", "CHAR", "elt", "Elt", "byte", "sec", "Sec", "msec")),
            _INTERVAL,
        ),
        st.builds("rect={}{}".format, _CORNERS, st.sampled_from(("", ",0", ",00", ",7"))),
        st.builds("Crop=SEC,{}".format, _INTERVAL),
        st.builds("crop=msec,{},{}".format, _INTERVAL, _CORNERS),
        st.builds("name={},{}".format, _SPECIFIER, _SPECIFIER),
        st.lists(position_lists(), min_size=1, max_size=3).map(
            lambda those: f"X-7={','.join(those)}"
        ),
    )


_IMPLIED = {
    "text": "37,51",
    "HTML": "0,9",
    "gif": "(5,10),(25,30),0",
    "au": "23,57",
    "mpeg": "sec,23,51",
    "video+mp4": "MSEC,23,51,(1,1),(2,2)",
}


_DAYS_AND_PATTERNS = patterns_of_days() | existing_days()


@cache
def _add_star(component: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return component | st.just("*")


@cache
@st.composite
def texts(draw: st.DrawFn, depth: int = 2, *, patterns: bool = True) -> str:
    """Well-formed PDIs in every spelling, with fragments, and with citations nested `depth` deep.

    `patterns` says if patterns are among them.
    """
    wild = draw(st.booleans()) if patterns else False
    prefix = draw(st.sampled_from(("pdi", "PDI", "pDi", "urn:pdi", "URN:PDI", "Urn:pdi")))
    begin = f"{prefix}://{draw(series_names())}/"
    day = draw(_DAYS_AND_PATTERNS if wild else existing_days())
    if wild and depth == 2 and draw(st.booleans()):
        components = draw(existing_days()).split("/")[: draw(st.integers(0, 3))]
        return begin + "".join(f"{component}/" for component in components)
    text = f"{begin}{day}/{draw(_add_star(unique_ids()) if wild else unique_ids())}"
    has = draw(st.sampled_from(("uid", "format", "version", "version")))
    if has != "uid":
        text += f".{draw(_add_star(format_names()) if wild else format_names())}"
    if has == "version":
        text += f".{draw(_add_star(version_numbers()) if wild else version_numbers())}"
    match draw(st.sampled_from(("", "", "#", "default", "@"))):
        case "#":
            text += f"#{draw(fragment_specifiers())}"
        case "default" if has == "uid":
            token = draw(st.sampled_from(sorted(_IMPLIED)))
            text += f".{token}#{_IMPLIED[token]}"
        case "@" if depth:
            text += f"@{draw(position_lists())}={draw(texts(depth - 1, patterns=wild))}"
    return text


@cache
def values() -> st.SearchStrategy[Pdi]:
    """PDIs, patterns among them."""
    return texts().map(parse_pdi)


@cache
def generic_resources() -> st.SearchStrategy[Pdi]:
    """Generic resources without wildcards, as stores have records of them."""
    return texts(depth=0, patterns=False).map(lambda text: parse_pdi(text).resource)
