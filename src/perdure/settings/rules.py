"""Rules: each checks the value of a setting, and returns its canonical form.

How it works: a rule is a function of a setting's name and value. The functions at the top make
rules. Those at the end read one text of a list, for `read_each`; they raise ValueError, and the
rule adds the name of the setting.

What must stay true: a rule accepts its own result and returns it unchanged. Importing this module
loads no scheme; a rule loads the schemes when it reads an authority.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any

from perdure.errors.configuring import (
    SettingForm,
    SettingNotAllowed,
    SettingNotOfForm,
    SettingOutOfRange,
    SettingUnreadable,
)
from perdure.ids import find_scheme, handle, load_schemes, parse, pwid

_FORMS: dict[SettingForm, str] = {
    "domain": "[a-z0-9][a-z0-9.-]*",
    "origin": r"https?://(?:[0-9a-z._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?",
    "header": "[A-Za-z0-9-]{1,64}",
    "url": "https?://[!-~]+",
    "url-without-slash": "https?://[!-~]+[^/]",
    "file-name": "[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    "line": r"[^\x00-\x1f\x7f]{1,200}",
    "contact": r"[^@\s<>\"]{1,64}@[^@\s<>\"]{1,255}|https?://[!-~]+",
}

_LEAST_CONTRAST = 4.5  # between a text and what is behind it (WCAG 2.2, 1.4.3)

Rule = Callable[[str, Any], Any]
"""Returns the canonical value of a setting, from its name and value. Raises BadSettings."""


OF_OTHERS = "authorities"
"""The setting for authorities of schemes without a setting of their own."""
OF_AUTHORITIES = ("series", "naming_authorities", "shoulders", OF_OTHERS)
"""The settings that list authorities, in the order in which a registry mints."""


def read_each(canonical: Callable[[str], str]) -> Rule:
    """A rule: each text of a list is made canonical by a function, and duplicates are dropped."""

    def apply_rule(name: str, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_read_text(name, text, canonical) for text in value))

    return apply_rule


def read_single(canonical: Callable[[str], str]) -> Rule:
    """A rule: a text is made canonical by a function, or is empty."""

    def apply_rule(name: str, value: str) -> str:
        return _read_text(name, value, canonical) if value else value

    return apply_rule


def read_ip_address(text: str) -> str:
    """Read an IP address. Raises ValueError."""
    return str(ip_address(text))


def _read_text(name: str, text: str, canonical: Callable[[str], str]) -> str:
    try:
        return canonical(text)
    except ValueError as error:  # MalformedIdentifier is one
        raise SettingUnreadable(setting=name, value=text, fault=str(error)) from error


def allow_words(*allowed: str) -> Rule:
    """A rule: the value is one of these words."""

    def apply_rule(name: str, value: str) -> str:
        if value in allowed:
            return value
        raise SettingNotAllowed(setting=name, value=value, allowed=allowed)

    return apply_rule


def limit_range(low: int, high: int) -> Rule:
    """A rule: the value is a number from `low` to `high`, both included."""

    def apply_rule(name: str, value: int) -> int:
        if low <= value <= high:
            return value
        raise SettingOutOfRange(setting=name, value=value, low=low, high=high)

    return apply_rule


def match_form(form: SettingForm) -> Rule:
    """A rule: the value is empty or has one of the known forms."""
    whole = re.compile(_FORMS[form], re.ASCII)

    def apply_rule(name: str, value: str) -> str:
        if not value or whole.fullmatch(value):
            return value
        raise SettingNotOfForm(setting=name, value=value, form=form)

    return apply_rule


def read_authorities(setting: str) -> Rule:
    """A rule: each text is an authority of the scheme with this setting."""

    def read_authority(text: str) -> str:  # loads the schemes when a setting is read, not at import
        return _find_reader(setting)(text)

    return read_each(read_authority)


def _find_reader(setting: str) -> Callable[[str], str]:
    """Find the function that reads authorities of the scheme with this setting."""
    found = (one.minting for one in load_schemes().values() if one.minting is not None)
    return next(one.read_authority for one in found if one.setting == setting)


def read_further_authority(text: str) -> str:
    """An authority of a scheme that has no setting of its own, in its canonical form."""
    scheme = find_scheme(text)
    if scheme is None or scheme.minting is None:
        raise ValueError("no scheme in which names are minted has this prefix")
    if scheme.minting.setting != OF_OTHERS:
        raise ValueError(f"a {scheme.minting.kind} belongs in the setting {scheme.minting.setting}")
    return scheme.minting.read_authority(text)


def read_prefix(text: str) -> str:
    """A prefix of the Handle System, in lower case."""
    return handle.parse_handle(f"hdl:{text}/x").prefix.lower()


def read_archive(text: str) -> str:
    """The id of a web archive as PWIDs spell it, in lower case."""
    return pwid.parse_pwid(f"pwid:{text}:2000:part:x:").archive


def read_template(text: str) -> str:
    """A template in its canonical form."""
    from perdure.policy import templates  # few registries have one

    return str(templates.read_template(text))


def read_admin(text: str) -> str:
    """A handle value as user names spell it (`index:handle`), in lower case."""
    index, _, name = text.partition(":")
    if not re.fullmatch("[0-9]{1,10}", index, re.ASCII):
        raise ValueError("an index, ':' and a handle are needed")
    found = handle.parse_handle(f"hdl:{name}")
    return f"{int(index)}:{found.prefix}/{found.suffix}".lower()


def read_network(text: str) -> str:
    """An IPv4 or IPv6 network, or a single address."""
    return str(ip_network(text))


def read_colour(name: str, value: str) -> str:
    """A rule: a colour as `#rrggbb`, in lower case, on which white text can be read."""
    return _read_text(name, value, _read_colour)


def _read_colour(text: str) -> str:
    if not re.fullmatch("#[0-9A-Fa-f]{6}", text, re.ASCII):
        raise ValueError("'#' and six hexadecimal digits are needed")
    parts = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts
    )
    contrast = 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)  # WCAG 2.2, 1.4.3
    if contrast < _LEAST_CONTRAST:
        raise ValueError(
            f"its contrast with white is {contrast:.1f}, and {_LEAST_CONTRAST} is needed"
        )
    return text.lower()


def read_name_server(text: str) -> str:
    """The address of a name server, with its port."""
    from perdure.fetching.discovery.lookups import read_server  # few registries name one

    host, port = read_server(text)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def read_resolver(text: str) -> str:
    """A series and the address of its resolver: `oma.eop.gov.us = https://pid.example.org`."""
    from perdure.fetching.discovery.discovering import read_resolvers  # few registries name one

    ((series, base),) = read_resolvers((text,)).items()
    return f"{series} = {base}"


def read_document(name: str, value: Any) -> str:
    """A rule: the identifier of a document, without version and part, or an empty text."""
    return _read_text(name, value, _read_document_name) if value else ""


def _read_document_name(text: str) -> str:
    identifier = parse(text)
    if identifier.is_pattern or identifier.whole != identifier or identifier.version is not None:
        raise ValueError("the identifier of a document is needed, without version and part")
    return str(identifier)


def read_signers(text: str) -> str:
    """An authority (or `*` for all others), `=`, and the identifier of a document."""
    authority, equals, name = text.partition("=")
    if not equals or not authority or authority != authority.strip():
        raise ValueError("a series, '=' and an identifier are needed")
    return f"{authority}={_read_document_name(name)}"


def read_quota(text: str) -> str:
    """A series, `=` and a number from 1 to 10^18."""
    series, _, number = text.rpartition("=")
    if not re.fullmatch("[1-9][0-9]{0,17}", number, re.ASCII):
        raise ValueError("a series, '=' and a number are needed")
    return f"{_find_reader('series')(series)}={number}"
