"""The text of mail, the octets to which its lines lead, and Python's `email` as another reader."""

from __future__ import annotations

import mailbox
import random
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.policy import SMTP, compat32
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extractors.cutting import content, source

from perdure.errors import OverBudget
from perdure.errors.damage import TextAbsent
from perdure.extractors.mail.structure import decode_body, is_text, list_entities, list_mails
from perdure.extractors.mail.text import EXTRACTOR, MBOX
from perdure.extractors.mapped_text import MappedText
from perdure.extractors.port import Source
from perdure.formats.detect import detect_type
from perdure.parts import Octets
from perdure.reading.extraction import PartExtraction

MAIL = "message/rfc822"
BODY = "Hello = wörld\n" + "x y " * 40 + "\n\nFrom here\n"


def write_mail(cte: str = "quoted-printable") -> EmailMessage:
    mail = EmailMessage(policy=SMTP)
    mail["From"] = "Jürgen <j@example.org>"
    mail["Received"] = "from somewhere"
    mail["To"] = "b@example.org"
    mail["Subject"] = "Grüße an alle " * 8
    mail.set_content(BODY, cte=cte)
    return mail


def write_parts() -> EmailMessage:
    mail = write_mail()
    mail.add_alternative("<p>Hello<p>page", subtype="html")
    mail.add_attachment("attached\n", filename="a.txt")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png")
    inner = EmailMessage(policy=SMTP)
    inner["Subject"] = "inner"
    inner.set_content("in base64\nzwei", cte="base64")
    mail.add_attachment(inner)
    page = EmailMessage(policy=SMTP)
    page.set_content("<title>T</title><p>one <b>two</b><br>three &amp; four", subtype="html")
    mail.attach(page)
    return mail


def read(place: Path, data: bytes, media_type: str = MAIL) -> tuple[Source, MappedText]:
    document = source(place, data, media_type)
    return document, EXTRACTOR.open_text(document, EXTRACTOR.map_text(document))


def octets(text: MappedText, start: int, stop: int, *, finest: bool = False) -> list[Octets]:
    return [cast(Octets, one.selector) for one in text.list_passages(start, stop, finest=finest)]


@pytest.mark.parametrize("cte", ["quoted-printable", "8bit", "base64"])
def test_the_text_of_a_mail_is_its_header_and_its_body(tmp_path: Path, cte: str) -> None:
    _, text = read(tmp_path, write_mail(cte).as_bytes())
    subject = " ".join(["Grüße an alle"] * 8)
    head = f"From: Jürgen <j@example.org>\nTo: b@example.org\nSubject: {subject}\n\n"
    assert text.text == head + BODY + "\n"


def test_the_bodies_of_text_are_read_and_one_of_the_alternatives(tmp_path: Path) -> None:
    _, text = read(tmp_path, write_parts().as_bytes())
    after = text.text.partition("From here\n\n")[2]
    assert after == (
        "attached\n\nSubject: inner\n\nin base64\nzwei\n\nT\none two\nthree & four\n\n"
    )


def test_a_mail_of_html_only_is_its_text(tmp_path: Path) -> None:
    data = b"Subject: a\nContent-Type: text/html; charset=iso-2022-jp\n\n<p>" + "日本<p>b".encode(
        "iso2022_jp"
    )
    assert read(tmp_path, data)[1].text == "Subject: a\n\n日本\nb\n\n"


def test_a_line_leads_to_the_octets_where_it_is_stored(tmp_path: Path) -> None:
    document, text = read(tmp_path, write_parts().as_bytes())
    extraction = PartExtraction()
    for words, stored in (
        ("wörld", b"Hello =3D w=C3=B6rld\r\n"),
        ("attached", b"attached\r\n"),
        ("zwei", b"aW4gYmFzZTY0DQp6d2VpDQo=\r\n"),
    ):
        at = text.text.index(words)
        (selector,) = octets(text, at, at + len(words), finest=True)
        part = extraction.cut_part(document, selector)
        assert content(part, document) == stored
        place = text.locate_part(part)
        assert place is not None
        assert words in text.text[place.start : place.stop]


def test_a_line_in_several_stored_lines_leads_to_all_of_them(tmp_path: Path) -> None:
    document, text = read(tmp_path, write_mail().as_bytes())
    at = text.text.index("x y x")
    (selector,) = octets(text, at, at + 4)
    stored = document.read_bytes(selector.start, selector.end or 0)
    assert stored.count(b"=\r\n") == stored.count(b"\n") - 1 > 0


def test_a_range_in_two_bodies_is_two_passages(tmp_path: Path) -> None:
    document, text = read(tmp_path, write_parts().as_bytes())
    start, stop = text.text.index("From here"), text.text.index("attached") + 8
    first, second = octets(text, start, stop)
    assert document.read_bytes(first.start, first.end) == b"From here\r\n"
    assert document.read_bytes(second.start, second.end) == b"attached\r\n"


def test_every_character_is_in_a_passage_except_line_breaks(tmp_path: Path) -> None:
    _, text = read(tmp_path, write_parts().as_bytes())
    chosen = random.Random(1)
    for _ in range(50):
        start = chosen.randrange(len(text.text) - 1)
        stop = chosen.randrange(start + 1, len(text.text))
        passages = text.list_passages(start, stop)
        covered = {place for one in passages for place in range(one.start, one.stop)}
        assert {text.text[place] for place in {*range(start, stop)} - covered} <= {"\n"}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Subject: =?x-none?q?a?=\n\nb", "Subject: =?x-none?q?a?=\n\nb\n\n"),
        (b"Subject: \xc3\xa4\n\nb", "Subject: ä\n\nb\n\n"),
        (b"Content-Type: text/plain; charset=x-none\n\n\xc3\xa4", "\nä\n\n"),
        (b"Content-Type: text/plain; charset=utf-8\n\n\xe4", "\nä\n\n"),
        (b"\nbody only", "\nbody only\n\n"),
        (b"Content-Type: multipart/mixed; boundary=a\n\n--a\n\nnever ends", "\nnever ends\n\n"),
        (b"Content-Transfer-Encoding: base64\n\nYWI=", "\nab\n\n"),
    ],
)
def test_mail_of_the_wild_is_read(tmp_path: Path, data: bytes, text: str) -> None:
    assert read(tmp_path, data)[1].text == text


def test_an_mbox_is_its_mails(tmp_path: Path) -> None:
    box = mailbox.mbox(str(tmp_path / "box"))
    for number in range(3):
        mail = EmailMessage()
        mail["Subject"] = f"Number {number}"
        mail.set_content(f"Body {number}\n\nFrom me\n")
        box.add(mail)
    box.close()
    data = (tmp_path / "box").read_bytes()
    assert str(detect_type(data).media_type) == MBOX
    document, text = read(tmp_path, data, MBOX)
    assert text.text.rstrip("\n") == "\n".join(
        f"Subject: Number {number}\n\nBody {number}\n\n>From me\n\n" for number in range(3)
    ).rstrip("\n")
    (selector,) = octets(text, text.text.index("Body 1"), text.text.index("Body 1") + 4)
    assert document.read_bytes(selector.start, selector.end) == b"Body 1\n"


def test_a_mail_without_text_says_so(tmp_path: Path) -> None:
    with pytest.raises(TextAbsent):
        read(tmp_path, b"Content-Type: image/png\n\nabc")
    with pytest.raises(TextAbsent):
        read(tmp_path, b"no mail", MBOX)


def test_a_text_that_is_too_long_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.extractors.mapped_text.LARGEST", 5)
    with pytest.raises(OverBudget):
        read(tmp_path, b"Subject: a long one\n\n")


def test_parts_within_parts_are_read_to_a_limit(tmp_path: Path) -> None:
    data = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(5000)
    )
    with pytest.raises(TextAbsent):
        read(tmp_path, data + b"\ndeep")


def test_the_text_is_read_in_a_confined_process(extraction: PartExtraction, tmp_path: Path) -> None:
    text = extraction.read_text(source(tmp_path, write_parts().as_bytes(), MAIL))
    assert text is not None
    assert "wörld" in text.text
    assert "page" not in text.text


def _list_leaves(mail: Message[str, str]) -> list[bytes]:
    """The bodies of text as Python's `email` decodes them."""
    if mail.get_content_type() in ("message/rfc822", "message/global"):
        inner = mail.get_payload()
        return _list_leaves(cast(Message, inner[0])) if isinstance(inner, list) else []
    if isinstance(mail.get_payload(), list):
        return [leaf for part in mail.get_payload() for leaf in _list_leaves(cast(Message, part))]
    if mail.get_content_maintype() != "text":
        return []
    return [cast(bytes, mail.get_payload(decode=True))]


_BODIES = st.binary(max_size=60).map(lambda data: data.replace(b"--", b"").replace(b"\r", b""))


@st.composite
def mails(draw: st.DrawFn, depth: int = 2) -> bytes:
    """Mails of parts within parts, as other programs write them."""
    if not depth or draw(st.booleans()):
        kind = draw(st.sampled_from([b"text/plain", b"text/x-a; charset=utf-8", b"image/png"]))
        coding = draw(st.sampled_from([b"7bit", b"8bit", b"base64", b"quoted-printable"]))
        head = b"Content-Type: %s\nContent-Transfer-Encoding: %s\n\n" % (kind, coding)
        return head + draw(_BODIES)
    if draw(st.integers(0, 4)) == 0:
        return b"Content-Type: message/rfc822\n\n" + draw(mails(depth - 1))
    parts = draw(st.lists(mails(depth - 1), min_size=1, max_size=3))
    name = b"edge%d" % depth
    body = b"".join(b"--%s\n%s\n" % (name, part) for part in parts)
    return b"Content-Type: multipart/mixed; boundary=%s\n\nto old readers\n%s--%s--\nafter" % (
        name, body, name,
    )  # fmt: skip


@given(mails(), st.booleans())
def test_python_finds_the_same_bodies(data: bytes, crlf: bool) -> None:
    data = data.replace(b"\n", b"\r\n") if crlf else data
    theirs = _list_leaves(BytesParser(policy=compat32).parsebytes(data))
    entities = list_entities(data, 0, len(data))
    ours = [decode_body(data, one) for one in entities if not one.is_message and is_text(one)]
    assert ours == theirs


_WILD = st.text("multipar/xed;= \"'*%\\\n\0é-_0128", max_size=60).map(str.encode)


@given(
    st.binary(max_size=300)
    | st.tuples(st.sampled_from([b"text/plain;", b"multipart/mixed;"]), _WILD, _WILD).map(
        lambda one: b"Content-Type: " + one[0] + b" charset=" + one[1] + b";boundary=" + one[2]
    )
)
def test_any_bytes_are_read_in_order(data: bytes) -> None:
    """Bodies are in order and do not overlap, and no bytes raise an error."""
    at = 0
    for entity in list_entities(data, 0, len(data)):
        assert 0 <= entity.start <= entity.body <= entity.stop <= len(data)
        if not entity.is_message:
            assert at <= entity.body
            at = entity.stop
    list_mails(data)
