"""Sends the requests of the demo and the tutorial if curl is not installed.

How it works: it understands the few options of curl that these use, with the same meaning, and
prints what curl would print: the body, or with `-i` the header fields before it, or with `-I` the
header fields of a HEAD request. `python examples/curl.py -sI http://127.0.0.1:8080/healthz`

What must stay true: nothing but the standard library is imported. An option that is not known is an
error, so that an example cannot seem to work.
"""

from __future__ import annotations

import argparse
import http.client
import sys
from urllib.parse import urlsplit


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """The options as curl spells them, several letters after one hyphen included."""
    options = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    options.add_argument("-s", dest="silent", action="store_true", help="without progress")
    options.add_argument("-S", dest="show_error", action="store_true", help="but with errors")
    options.add_argument("-I", dest="head", action="store_true", help="header fields only (HEAD)")
    options.add_argument("-i", dest="include", action="store_true", help="header fields and body")
    options.add_argument("-r", dest="range", help="bytes FIRST-LAST")
    options.add_argument("-H", dest="fields", action="append", default=[], help="a header field")
    options.add_argument("-G", dest="get", action="store_true", help="-d goes into the query")
    options.add_argument("-d", dest="data", help="data of the query, with -G")
    options.add_argument("--request-target", help="target to send in place of the path")
    options.add_argument("url")
    chosen = options.parse_args(arguments)
    if (chosen.data is None) == chosen.get:
        options.error("-d and -G are understood together only")
    return chosen


def send_request(chosen: argparse.Namespace) -> bytes:
    """Sends one request and returns what curl would print."""
    address = chosen.url if "://" in chosen.url else f"http://{chosen.url}"
    host, target = urlsplit(address).netloc, address.partition("#")[0].split("/", 3)[3:]
    path = f"/{target[0] if target else ''}"
    if chosen.get:
        path += f"{'&' if '?' in path else '?'}{chosen.data}"
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.putrequest(
            "HEAD" if chosen.head else "GET",
            chosen.request_target or path,
            skip_accept_encoding=True,
        )
        fields = {"accept": "*/*"}
        for field in chosen.fields:
            name, _, value = field.partition(":")
            fields[name.lower()] = value.strip()
        if chosen.range:
            fields["range"] = f"bytes={chosen.range}"
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
        lines += [f"{name}: {value}" for name, value in answer.getheaders()]
        head = "".join(f"{line}\r\n" for line in [*lines, ""]).encode("iso-8859-1")
        return (head if chosen.head or chosen.include else b"") + answer.read()
    finally:
        connection.close()


def main(arguments: list[str]) -> int:
    try:
        output = send_request(parse_options(arguments))
    except OSError as error:
        print(f"curl: (7) {error}", file=sys.stderr)
        return 7
    sys.stdout.buffer.write(output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
