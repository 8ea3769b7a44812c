"""Asks a bucket for its settings, which obstore cannot do: versioning and object lock.

How it works: a GET with an empty body is signed with AWS Signature Version 4 ("Create a signed AWS
API request" in the IAM User Guide): an HMAC, under a key made of the secret, the day and the
region, of a digest of the request.

What must stay true: the secret is never sent; no answer is followed to another server.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from perdure.storage.segments.objects.addresses import ObjectAddress

_EMPTY = hashlib.sha256(b"").hexdigest()
_LONGEST = 64 * 1024
_NONE = "ObjectLockConfigurationNotFoundError"


class BucketSettings(NamedTuple):
    """The answers of a bucket about itself; None if it gives none."""

    versioning: str | None
    """`Enabled`, `Suspended`, or empty if it was never enabled."""
    lock: str | None
    """The default retention, such as `COMPLIANCE, Days: 365`; empty without object lock."""


def ask_settings(address: ObjectAddress) -> BucketSettings:
    """Ask for versioning and object lock. What cannot be asked is None."""
    if not address.key:  # the role of the machine signs, and only the library has its key
        return BucketSettings(None, None)
    status, text = _ask(address, "versioning")
    versioning = _find_element(text, "Status") if status == 200 else None
    status, text = _ask(address, "object-lock")
    if status == 200:
        mode = _find_element(text, "Mode") or "no default retention"
        times = ((name, _find_element(text, name)) for name in ("Days", "Years"))
        known = (f"{name}: {value}" for name, value in times if value not in ("", "0"))
        lock: str | None = ", ".join((mode, *known))
    else:
        lock = "" if _NONE in text else None
    return BucketSettings(versioning, lock)


def _find_element(text: str, name: str) -> str:
    found = re.search(rf"<{name}>([A-Za-z0-9]{{1,20}})</{name}>", text)
    return "" if found is None else found[1]


def _ask(address: ObjectAddress, subresource: str) -> tuple[int, str]:
    """The status and text of the answer; 0 if there is none."""
    options = address.options
    endpoint = options["endpoint"] or f"https://s3.{options['region']}.amazonaws.com"
    parts = urlsplit(endpoint)
    host, path = parts.netloc, parts.path.rstrip("/")
    if options["style"] == "host":
        host, path = f"{address.bucket}.{host}", f"{path}/"
    else:
        path = f"{path}/{address.bucket}"
    fields = sign_request(address, host, path, subresource, datetime.now(UTC))
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(host, timeout=address.timeout)
    try:
        connection.request("GET", f"{path}?{subresource}=", headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.read(_LONGEST).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return 0, ""
    finally:
        connection.close()


def sign_request(
    address: ObjectAddress, host: str, path: str, subresource: str, now: datetime
) -> dict[str, str]:
    """The header fields of a signed GET of a subresource, such as `versioning`."""
    time, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    fields = {"host": host, "x-amz-content-sha256": _EMPTY, "x-amz-date": time}
    if address.session:
        fields["x-amz-security-token"] = address.session
    names = ";".join(sorted(fields))
    lines = [f"{name}:{fields[name]}" for name in sorted(fields)]
    request = ["GET", quote(path), f"{subresource}=", *lines, "", names, _EMPTY]
    scope = f"{day}/{address.options['region']}/s3/aws4_request"
    digest = hashlib.sha256("\n".join(request).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}"
    key = f"AWS4{address.secret}".encode()
    for word in scope.split("/"):
        key = _sign(key, word)
    signature = _sign(key, text).hex()
    fields["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={address.key}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return fields


def _sign(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
