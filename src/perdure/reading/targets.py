"""Request targets: read the identifier in a target, and write an identifier as a target. Pure.

How it works: a target names an identifier in origin form (`/pdi://…`), in absolute form (`pdi://…`)
or after our own address (`http://host/pdi://…`); these are one request (ruling: http-forms).
`perdure.server.routes.dispatch` decides which targets are pages of the server. If an identifier was
escaped as a whole, with or without its first colon, it is decoded here, and its query begins at the
first `?`. The query of any other target is split off by the rule of the scheme:

- PWID: at the last `?` if `nearest` follows it. In the form of a URN, which writes a `?` of the
  item as `%3F`, also if another question or the operation of a POST follows: `?nearest`, `?info`,
  `?bind`, `?cursor=…&limit=…`. Everything else is the identifier, since an archived address has
  queries of its own (ruling: pwid-form).
- other URNs: at the first `?`, unless `?+` or `?=` follows (RFC 8141's r- and q-component).
- all others (PDI, ARK, Handle …): at the first `?`.

Other percent-escapes are part of the identifier and stay unchanged, with two exceptions. A Handle
is not a URI, so its text is escaped in a target (`Scheme.is_uri`). A `%23` means the `#` before
a part at a place in a PDI that cannot have a `%23`, and in an ARK or URN that is known only up to
there (ruling: fragment-transport).

What must stay true: `read_identifier(read_target(b"/" + spell_path(x)).text) == x` for every
identifier x, the f-components of URNs aside.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice
from urllib.parse import unquote, unquote_plus, unquote_to_bytes

import msgspec

from perdure.errors import MalformedIdentifier
from perdure.errors.requests import (
    EmptyPart,
    MalformedNumber,
    SeveralQuestions,
    UnknownLevel,
    UnknownQuestion,
)
from perdure.ids import Identifier, load_schemes, parse, scheme_of
from perdure.ids.escaping import escape_text
from perdure.ids.name_set import NameSet
from perdure.ids.named_parts import Name, split_part
from perdure.model.parameters import Parameters, decode_names
from perdure.model.queries import LocationAttribute
from perdure.parts import View, media
from perdure.reading.places import NUMBERS, PointedPlace, read_place, read_position, read_view

_OUR_ADDRESS = re.compile(r"https?://[^/?#]*", re.ASCII | re.IGNORECASE)
_PWID = re.compile(r"(?:urn:)?pwid:", re.ASCII | re.IGNORECASE)
_OF_PWID = re.compile(r"\?nearest(?:&(?:info|(?:cursor|limit)=[^&?#]*+))*\Z")
_OF_PWID_URN = re.compile(
    r"\?(?:(?:info|bytes|landing|linkset|history|locations|members|play|text|view|signatures|nearest"
    r"|assertions|standing|provenance|manifest|cites|citedby|quotes"
    r"|metadata|cite|register|correct|bind|break|alias|withdraw|erase|refuse"
    r"|(?:cursor|limit|metadata|level|cite|locale|region|form|by|motivation|scope|kind|since|until)"
    r"=[^&?#]*+)(?:&(?!\Z)|\Z))+\Z"
)
_URN = re.compile(r"urn:", re.ASCII | re.IGNORECASE)
_ESCAPED = re.compile(
    r"(?:urn:[a-z0-9]|[a-z])[a-z0-9+.-]*%3a|(?:urn:)?pdi:%2f%2f|ark:%2f", re.ASCII | re.IGNORECASE
)  # no name begins so; clients escape a colon, or leave it unchanged
_PDI = re.compile(r"(?:urn:)?pdi:", re.ASCII | re.IGNORECASE)
_KEPT_IN_QUERY = "/:;,@!$'()*=-._~?"
_SHORT = 32  # characters of a question that is remembered
_MOST_HASHES = 4  # escaped ones that may begin a part
_SENT_FORMAT = re.compile(r"\.[^.#@]*")
_SENT_ESCAPE = re.compile("%25(?=2[35])")
"""In a format: an escaped `#` or `%` of the name itself."""
_FIRST_LEVELS = 6  # slashes of a PDI before its unique-id

ABOUT = frozenset(("", "?", "info"))
"""The queries that ask for a description: `?`, `??` (inflections of ARKs) and `?info`."""
_BARE = ("metadata", "cite")
"""Parameters that need no value."""
_ANSWERED = (*_BARE, "quote", "point", "preview", "diff")
"""Parameters that are questions: each has an answer of its own."""
_VERBS = ("info", "bytes", "landing", "linkset", "locations", "history", "members", "play",
          "text", "signatures", "assertions", "provenance", "manifest", "cites",
          "citedby", "quotes", "view")  # fmt: skip
_LEVELS = ("own",)
_FLAGS = ("nearest", "standing")
"""Words beside a question, without a value."""
_TYPED = ("quote", "before", "after")
"""Parameters from a form, in which a space is written `+`."""
_PARAMETERS = ("metadata", "level", "cite", "locale", "part", "t", "cursor", "limit", "urlappend",
               "region", "index", "type", "locatt", "form", "by", "motivation", "scope", "kind",
               "since", "until", "point", "preview", "diff", "at", *NUMBERS)  # fmt: skip


_OF_PROXIES = ("noredirect", "ignore_aliases", "auth")
"""Words of the proxies of the Handle System. Ours is always the authoritative answer (`auth`)."""
_HANDLE = re.compile(r"[0-9]{1,9}(?:\.[0-9A-Za-z_-]+)*(?:/|%2[Ff])[^/?#]", re.ASCII)
"""The beginning of a Handle or DOI without its label, as in the links of the public proxies. Some
clients escape its slash. A timestamp of an archive is longer."""


class RequestTarget(msgspec.Struct, frozen=True):
    """A request target, split into its name and its query."""

    text: str
    """An identifier, decoded if it was escaped as a whole, or the path of a page without the first
    slash."""
    question: str | None
    """The text after the `?`, or None without a `?`, which differs from an empty text."""


class Question(msgspec.Struct, frozen=True):
    """A question about an identifier."""

    verb: str = ""
    """`info`, `bytes`, `history` or, in a POST, an operation; empty for the resource itself."""
    part: str | None = None
    delimiter: str = "?part="
    """The text before the part."""
    cursor: str | None = None
    limit: int | None = None
    nearest: bool = False
    """For a PWID: True if a capture near the named one is acceptable."""
    append: str | None = None
    """The text to append to the address of the redirect."""
    metadata: str | None = None
    """A format of metadata; empty for the one that the reader prefers."""
    level: str | None = None
    """The level of metadata: `own` for the description of the name itself; None for all levels."""
    cite: str | None = None
    """A style of citation; empty for the default."""
    locale: str | None = None
    inflection: str = ""
    """`?` or `??`, if the query is only this."""
    region: str | None = None
    """The region of the reader, or the region that the reader prefers."""
    quote: str | None = None
    """A passage of a text; its identifier is wanted."""
    before: str | None = None
    """The text before the passage; `after` is the text after it."""
    after: str | None = None
    point: PointedPlace | None = None
    """A place in a document as a page shows it; the identifier of that part is wanted."""
    preview: View | None = None
    """A picture of a document that a page shows."""
    diff: tuple[int, int] | None = None
    """Two versions; their difference is wanted."""
    at: int = 0
    """The place at which a preview begins: a character, a frame, a page or a row."""
    form: str | None = None
    """The form of a list of assertions."""
    by: str = ""
    """The actor of the assertions that are wanted; empty for all."""
    motivation: str = ""
    scopes: tuple[str, ...] = ()
    """The scopes of the assertions that are wanted; empty for all."""
    is_standing: bool = False
    """True if retracted assertions are not wanted."""
    kinds: tuple[str, ...] = ()
    """Kinds of citations."""
    since: str | None = None
    until: str | None = None
    """The first and the last day on which citing documents were deposited."""
    follow_aliases: bool = True
    """False for `?ignore_aliases`."""
    indexes: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    """The indexes and types of the values of a handle that may redirect."""
    attributes: tuple[LocationAttribute, ...] = ()
    """The attributes of the locations of a handle that may redirect (`?locatt=id:1`)."""


def read_target(raw: bytes) -> RequestTarget:
    """Split a target, which is visible ASCII, as the protocol classes of the server pass it."""
    text = raw.decode("ascii")
    if text[0] == "/":
        text = text[1:]
    elif address := _OUR_ADDRESS.match(text):
        text = text[address.end() :].removeprefix("/")
    if _HANDLE.match(text):
        text = f"hdl:{text}"
    at = text.find("?")
    if is_escaped(text):
        return _read_escaped(text, at)
    if at >= 0 and _PWID.match(text):
        at = text.rfind("?")
        allowed = _OF_PWID_URN if _URN.match(text) else _OF_PWID
        asks = allowed.match(f"?{decode_names(text[at + 1 :])}")
        return RequestTarget(text[:at], text[at + 1 :]) if asks else RequestTarget(text, None)
    if at < 0 or (text[at + 1 : at + 2] in ("+", "=") and _URN.match(text)):
        return RequestTarget(text, None)
    return RequestTarget(text[:at], text[at + 1 :])


def label_handle(text: str) -> str:
    """A Handle or DOI that a target gives without its label, with the label that it usually has.

    >>> label_handle("10.1000/182"), label_handle("1839/A"), label_handle("2026/")
    ('doi:10.1000/182', 'hdl:1839/A', '2026/')
    """
    if _HANDLE.match(text) is None:
        return text
    return f"{'doi' if text.startswith('10.') else 'hdl'}:{text}"


def _read_escaped(text: str, at: int) -> RequestTarget:
    """Decode an identifier that was escaped as a whole, unless its escapes are not UTF-8."""
    name, question = (text, None) if at < 0 else (text[:at], text[at + 1 :])
    with suppress(
        MalformedIdentifier
    ):  # `read_identifier` raises it again, when it can be reported
        name = _decode_escapes(name)
    return RequestTarget(name, question)


def read_question(text: str | None, *, verbs: tuple[str, ...] = _VERBS) -> Question:
    """Read the text after the `?`. Raises InvalidRequest if a word in it is not a question, if it
    asks several, or if a parameter has several values; `index`, `type` and `locatt`, which the
    proxies of the Handle System have, may be repeated.

    Unknown `name=value` pairs are ignored, since other sites append them to shared links.
    """
    if text is None:
        return Question()
    # Clients repeat short questions, such as `bind`.
    return (_recall_question if len(text) <= _SHORT else _read_question)(text, verbs)


def _read_question(text: str, verbs: tuple[str, ...]) -> Question:
    text = decode_names(text)
    if text in ABOUT and "info" in verbs:
        return Question(verb="info", inflection="" if text == "info" else f"?{text}")
    words, found = _sort_pieces(text, verbs)
    asked = [*words, *(name for name in _ANSWERED if name in found)]
    if len(asked) > 1:
        raise SeveralQuestions(questions=tuple(f"?{name}" for name in asked))
    return Question(
        verb=next(iter(words), "info" if "noredirect" in found else ""),
        part=_read_part(found, text),
        cursor=found.get("cursor"),
        append=found.get("urlappend"),
        limit=_read_positive(found["limit"]) if "limit" in found else None,
        nearest="nearest" in found,
        metadata=found.get("metadata"),
        level=_read_level(found) if "metadata" in found else None,
        cite=found.get("cite"),
        locale=found.get("locale"),
        region=found.get("region"),
        quote=found.get("quote"),
        before=found.get("before"),
        after=found.get("after"),
        point=read_place(found) if "point" in found else None,
        preview=read_view(found["preview"]) if "preview" in found else None,
        diff=_read_versions(found["diff"]) if "diff" in found else None,
        at=read_position(found["at"], "at") if "at" in found else 0,
        form=found.get("form"),
        by=found.get("by") or "",
        motivation=found.get("motivation") or "",
        scopes=found.list_values("scope"),
        is_standing="standing" in found,
        kinds=found.list_values("kind"),
        since=found.get("since"),
        until=found.get("until"),
        follow_aliases="ignore_aliases" not in found,
        indexes=tuple(
            int(one) for one in found.list_values("index") if re.fullmatch("[0-9]{1,10}", one)
        ),
        types=found.list_values("type"),
        attributes=_read_attributes(found),
    )


_recall_question = lru_cache(maxsize=1024)(_read_question)


def _sort_pieces(text: str, verbs: tuple[str, ...]) -> tuple[list[str], Parameters]:
    """Split a query into the verbs that it names and its parameters. Raises UnknownQuestion."""
    words, found = dict[str, None](), Parameters()
    for piece in text.split("&"):
        name, equals, value = piece.partition("=")
        if name in _BARE and (equals or verbs):
            found.add(name, unquote(value))
        elif name in verbs and not value:
            words[name] = None
        elif name in _PARAMETERS and equals:
            found.add(name, unquote(value))
        elif name in _TYPED and equals:
            found.add(name, unquote_plus(value))
        elif _is_flag(name, value, verbs):
            found.add(name, name)
        elif name and not equals:
            raise UnknownQuestion(text=f"?{text}", known=tuple(f"?{verb}" for verb in verbs))
    return list(words), found


def _read_part(given: Parameters, text: str) -> str | None:
    """The part of `?part=`, or of `?t=15.0/30.0`, the form of Annodex. Raises EmptyPart."""
    part = given.get("part")
    if part == "":
        raise EmptyPart(question=text)
    if part is None and "t" in given:
        return str(media.read_time_query(given["t"]))
    return part


def _read_attributes(given: Parameters) -> tuple[LocationAttribute, ...]:
    """The pairs `name:text` of `?locatt=`; other values are ignored."""
    pairs = (one.partition(":") for one in given.list_values("locatt"))
    return tuple(LocationAttribute(name, text) for name, colon, text in pairs if colon)


def _read_level(given: Parameters) -> str | None:
    """The level of metadata. Raises UnknownLevel."""
    level = given.get("level")
    if level not in (None, *_LEVELS):
        raise UnknownLevel(text=level or "", known=_LEVELS)
    return level


def _is_flag(name: str, value: str, verbs: tuple[str, ...]) -> bool:
    """Return True if a piece of a query is a word without a value."""
    if name in _OF_PROXIES:
        return "info" in verbs and unquote(value).lower() in ("", "true")
    return name in _FLAGS and not value


def _read_versions(text: str) -> tuple[int, int]:
    """Two numbers of versions, such as `1,2`."""
    found = re.fullmatch("([1-9][0-9]{0,8}),([1-9][0-9]{0,8})", text, re.ASCII)
    if found is None:
        raise MalformedNumber(parameter="diff", text=text, low=1)
    return int(found[1]), int(found[2])


def _read_positive(text: str) -> int:
    if re.fullmatch("[1-9][0-9]{0,8}", text, re.ASCII):
        return int(text)
    raise MalformedNumber(parameter="limit", text=text, low=1)


# identifiers
# -----------


def read_identifier(text: str) -> Identifier:
    """The identifier in a target.

    Raises MalformedIdentifier or UnknownScheme.
    """
    if is_escaped(text):
        text = _decode_escapes(text)
    original = text
    if "%" in text:
        label = _compile_labels().match(text)
        if label is not None:
            text = label[0] + _decode_escapes(text[label.end() :])
        elif _PDI.match(text):
            text = _with_hash(text)
    try:
        return parse(text)
    except MalformedIdentifier:
        # A format that begins with %23, as earlier releases spelled it.
        if text != original and _PDI.match(original):
            with suppress(MalformedIdentifier):
                return parse(original)
        if "%23" not in text or "#" in text or not _PDI.match(text):
            raise
        return _with_part(text)


@cache
def _compile_labels() -> re.Pattern[str]:
    """A pattern of the labels after which a name is percent-escaped in a target."""
    labels = (
        one for scheme in load_schemes().values() if not scheme.is_uri for one in scheme.labels
    )
    pattern = "|".join(re.escape(label.text) for label in labels)
    return re.compile(pattern or "(?!)", re.ASCII | re.IGNORECASE)


def read_name(text: str, part: str | None = None) -> Name:
    """The identifier in a target, and its part if the scheme cannot include one.

    `part` is a part that was given apart from the name. Raises the same errors as
    `read_identifier`.
    """
    if part is not None:
        return Name(read_identifier(text), part)
    return split_part(text, read_identifier)


def is_escaped(text: str) -> bool:
    """Return True if a URI was escaped as a whole, with or without its first colon."""
    return _ESCAPED.match(text) is not None


def _decode_escapes(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedIdentifier(
            text=text, at=0, expected="escaped UTF-8", rule="RFC 3986 section 2.5"
        ) from error


def _find_innermost(text: str) -> int:
    """The start of the PDI that a part belongs to, which is the last one cited."""
    return text.lower().rindex("pdi:")


def _with_part(text: str) -> Identifier:
    """Read a PDI with `#` for the first `%23` that a part follows. Raises MalformedIdentifier.

    An earlier `%23` may belong to the URL that the unique-id encapsulates.
    """
    places = (one.start() for one in re.finditer("%23", text))
    tried = islice((at for at in places if at >= _find_innermost(text)), _MOST_HASHES)
    texts = [f"{text[:at]}#{text[at + 3 :]}" for at in tried] or [text]
    for one in texts:
        with suppress(MalformedIdentifier):
            return parse(one)
    return parse(texts[0])  # raises the error


def _with_hash(text: str) -> str:
    """Write `#` for the first `%23` after the dot of a PDI's format.

    A `%23` of the format itself is sent as `%2523` (`Pdi.path`).
    """
    start = _find_innermost(text)
    before = text[start:].split("/", _FIRST_LEVELS)
    if len(before) <= _FIRST_LEVELS:
        return text
    last = before.pop()
    dot = last.find(".")
    if dot < 0:
        return text
    rest = last[dot:] if "#" in text else last[dot:].replace("%23", "#", 1)
    rest = _SENT_FORMAT.sub(lambda sent: _SENT_ESCAPE.sub("%", sent[0]), rest, count=1)
    return text[:start] + "/".join((*before, last[:dot] + rest))


def spell_path(identifier: Identifier) -> str:
    """The form of an identifier in a target, after the slash: a piece of a URI."""
    return identifier.path


def spell_set_path(names: NameSet) -> str:
    """The form of a set of names in a target, after the slash."""
    if names.pattern is not None:
        return names.pattern.path
    whole, label = names.text, scheme_of(names.example).label_of(names.example).text
    if scheme_of(names.example).is_uri:
        return whole
    return label + escape_text(whole[len(label) :], "/:;,@!$&'()*+=-._~")


def spell_part_path(whole: Identifier, part: str) -> str:
    """The form of a part in a target, after the slash: with `%23` in a PDI, else with `?part=`."""
    with_part = whole.with_part(part)
    return append_part(whole.path, part) if with_part is None else with_part.path


def append_part(path: str, part: str) -> str:
    """The path of a name with a part beside it.

    >>> append_part("hdl:1/x", "t=5&6")
    'hdl:1/x?part=t=5%266'
    """
    return f"{path}?part={escape_text(part, _KEPT_IN_QUERY)}"


def spell_name_path(name: Name) -> str:
    """The form of a name in a target, with its part or as a set of names, after the slash.

    >>> spell_name_path(Name(parse("hdl:1/x"), "t=5")), spell_name_path(Name(parse("hdl:1/x")))
    ('hdl:1/x?part=t=5', 'hdl:1/x')
    """
    if name.names is not None:
        return spell_set_path(name.names)
    if name.part is not None:
        return spell_part_path(name.identifier, name.part)
    return spell_path(name.identifier)


def append_question(path: str, question: str) -> str:
    """A path or URL with one more question, such as `landing`.

    >>> append_question("/hdl:1/x?part=t=5", "landing"), append_question("/hdl:1/x", "landing")
    ('/hdl:1/x?part=t=5&landing', '/hdl:1/x?landing')
    """
    return f"{path}{'&' if '?' in path else '?'}{question}"


def spell_part_uri(whole: Identifier, part: str) -> str:
    """A part as a URI reference."""
    with_part = whole.with_part(part)
    return spell_part_path(whole, part) if with_part is None else str(with_part)


def spell_uri(identifier: Identifier) -> str:
    """An identifier as a URI: the result of `spell_path`, but with the `#` of a part unescaped."""
    return identifier.uri
