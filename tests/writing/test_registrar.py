"""The write door: what each command does, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace
from tests.conftest import (
    AUTHORITY,
    SERIES,
    SHOULDER,
    TODAY,
    Clock,
    Desk,
    html,
    large,
    sha512,
    text,
)
from tests.writing.registrars import open_registrar

from perdure.errors import (
    Conflict,
    InvalidRequest,
    MalformedIdentifier,
    NoSuchVersion,
    NotFound,
    PreconditionFailed,
    UnknownAuthority,
)
from perdure.errors.unavailable import BytesAtKeeper
from perdure.ids import ark, parse
from perdure.ids.ark import Ark
from perdure.model.commands import (
    Assign,
    Bind,
    Break,
    Commit,
    Content,
    Mint,
    Outcome,
    Receipt,
    Refuse,
    Register,
    SaveToken,
    Withdraw,
)
from perdure.model.queries import Description, Fetch, Gone, Redirect
from perdure.model.records import Location, Proposal, Record, Representation, Token
from perdure.policy.proposals import find_standing
from perdure.registry import initialise
from perdure.storage.segments import warc
from perdure.storage.segments.store import Segments
from perdure.storage.segments.writer import SegmentWriter
from perdure.storage.spool import make_content
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords
from perdure.writing.repetition import fingerprint_command

# Minting
# -------


def test_serials_start_from_1_and_are_incremented_by_1(desk: Desk) -> None:
    """ "Serial numbers SHOULD start from 1 and SHOULD be incremented by 1 as each new PDI is
    minted" (section 2.4)."""
    minted = [desk.mint(text(f"document {i}")).identifier for i in range(12)]
    assert minted == [f"{TODAY}/{number}.text.1" for number in range(1, 13)]


def test_serials_restart_at_midnight_utc(desk: Desk) -> None:
    """ "When the calendar day is incremented at midnight GMT, the unique ID of the day SHOULD be
    reset to start at 1 on the new day" (section 2.4)."""
    desk.clock.set("2026-12-31T23:59:59")
    assert desk.mint(text("a")).identifier == f"pdi://{SERIES}/2026/12/31/1.text.1"
    assert desk.mint(text("b")).identifier == f"pdi://{SERIES}/2026/12/31/2.text.1"
    desk.clock.set("2027-01-01T00:00:00")
    assert desk.mint(text("c")).identifier == f"pdi://{SERIES}/2027/01/01/1.text.1"


def test_serials_go_on_after_a_restart(desk: Desk) -> None:
    desk.mint(text("a"))
    desk.mint()  # a reservation counts too
    desk.reopen()
    assert desk.mint(text("b")).identifier == f"{TODAY}/3.text.1"


def test_serials_of_two_series_are_counted_apart(desk: Desk) -> None:
    initialise(desk.root, series=("nara.gov.us",))
    desk.reopen()
    desk.mint(text("a"))
    assert desk.mint(text("b"), authority="nara.gov.us").identifier == (
        "pdi://nara.gov.us/2026/11/21/1.text.1"
    )


@pytest.mark.parametrize("fields", [{}, {"locations": (Location(uri="https://a.example/"),)}])
def test_format_and_version_1_are_always_present(desk: Desk, fields: dict[str, object]) -> None:
    """ "When PDIs are minted, they MUST carry a format and a version number" (section 3.6.1).

    A name that nobody stated a format of is only reserved.  # ruling: pdi-reserved-name
    """
    assert desk.mint(**fields).identifier == f"{TODAY}/1"
    assert desk.mint(format="HTML", **fields).identifier == f"{TODAY}/2.html.1"
    assert desk.mint(html("<p>"), **fields).identifier == f"{TODAY}/3.html.1"


def test_a_unique_id_that_was_chosen(desk: Desk) -> None:
    minted = desk.mint(text("a"), uid="memo-7").identifier
    assert minted == f"{TODAY}/memo-7.text.1"
    assert desk.served(minted) == b"a"
    with pytest.raises(Conflict, match="names are never reused"):
        desk.mint(text("b"), uid="memo-7")
    desk.clock.advance(days=1)  # unique for a date and a series (section 2.4)
    assert desk.mint(text("b"), uid="memo-7").identifier != minted


def test_an_encapsulated_foreign_identifier(desk: Desk) -> None:
    """The example of section 2.5, escapes in lower case as section 3.6.4 says."""
    desk.clock.set("1994-10-20T09:00:00")
    minted = desk.mint(html("<p>"), uid="http://www.whitehouse.gov/").identifier
    assert minted == f"pdi://{SERIES}/1994/10/20/http:%2f%2fwww%2ewhitehouse%2egov%2f.html.1"
    example = parse(f"pdi://{SERIES}/1994/10/20/http%3a%2f%2fwww%2ewhitehouse%2egov%2f.html")
    assert desk.resolve(str(example)) == desk.resolve(minted.removesuffix(".1"))
    with pytest.raises(Conflict):  # section 3.6.4, step 4: equivalent as URLs
        desk.mint(html("<p>"), uid="HTTP://WWW.whitehouse.gov/")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"authority": "gpo.gov.us"}, UnknownAuthority),
        ({"authority": "IANA:1"}, UnknownAuthority),
        ({"authority": "12345/x6"}, UnknownAuthority),
        ({"authority": ""}, UnknownAuthority),
        ({"uid": "15"}, InvalidRequest),
        ({"uid": "015"}, InvalidRequest),
        ({"uid": ""}, MalformedIdentifier),
        ({"format": "*"}, MalformedIdentifier),
        ({"format": "*", "uid": "memo"}, MalformedIdentifier),
        ({"format": "te xt"}, MalformedIdentifier),
        ({"format": "text.1\r\nX: y"}, MalformedIdentifier),
        ({"metadata": {"title": "\ud800"}}, InvalidRequest),
        ({"uid": "\ud800"}, MalformedIdentifier),
        ({"locations": (Location(uri="javascript:alert(1)"),)}, InvalidRequest),
        ({"locations": (Location(uri="https://a.example/\r\nX: y"),)}, InvalidRequest),
        ({"locations": (Location(uri="https://a.example/", version=0),)}, InvalidRequest),
        ({"locations": (Location(uri="https://a.example/", sha512="BEEF"),)}, InvalidRequest),
        ({"locations": (Location(uri="https://a.example/", role="a\r\nb"),)}, InvalidRequest),
        ({"contents": (text("a", "te xt"),)}, MalformedIdentifier),
        ({"contents": (text("a", "*"),)}, MalformedIdentifier),
        ({"contents": (text("a"), text("b"))}, InvalidRequest),
        ({"contents": (text("a"), text("b", "TEXT"))}, InvalidRequest),
        ({"contents": (text("a"), text("b", "b@d"))}, MalformedIdentifier),
        ({"contents": (text("a", media_type="text/plain\r\nX: y"),)}, InvalidRequest),
        ({"contents": (text("a", media_type="text"),)}, InvalidRequest),
    ],
)
def test_what_is_refused_uses_up_no_number_and_leaves_no_bytes(
    desk: Desk, fields: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        desk.mint(**fields)
    assert desk.mint(text("sound")).identifier == f"{TODAY}/1.text.1"
    segment = (desk.root / "segments" / "000001.warc").read_bytes()
    assert segment.count(b"WARC-Target-URI") == 1


def test_many_names_reserved_at_once_are_what_each_alone_would_be(root: Path, clock: Clock) -> None:
    """Dense, in the order in which they were asked for, and with the same records."""
    mint = Mint(authority=SERIES, format="html")
    others: tuple[Mint, ...] = (
        Mint(authority=SERIES, contents=(text("a"),)),
        Mint(authority="nobody.us"),
        Mint(authority=SERIES, format="*"),
        Mint(authority=SERIES, by="somebody"),
    )
    commands = [mint, *others, mint, mint, *others[:2], *[mint] * 3, others[3], others[3]]
    with closing(open_registrar(root, clock)) as registrar:
        together = registrar.execute_commands(commands)
        number = len([one for one in together if isinstance(one, Receipt)])
        alone = [registrar.execute_commands((command,))[0] for command in commands]

    for answers, first in ((together, 1), (alone, number + 1)):
        names = [one.identifier for one in answers if isinstance(one, Receipt)]
        starts = [f"{TODAY}/{one}" for one in range(first, first + number)]
        assert [name.partition(".html")[0].partition(".text")[0] for name in names] == starts
    assert [type(one) for one in together] == [type(one) for one in alone]
    with closing(SqliteRecords(root)) as records:
        pairs = [
            [
                records.find_record(parse(one.identifier).key)
                for one in some
                if isinstance(one, Receipt)
            ]
            for some in (together, alone)
        ]
    assert len(pairs[0]) == number
    for one, other in zip(*pairs, strict=True):
        assert one is not None
        assert other is not None
        assert (one.at, one.by, one.minted) == (other.at, other.by, other.minted)


def test_documents_minted_at_once_are_kept_as_each_alone_would_be(root: Path, clock: Clock) -> None:
    german = make_content(b"ja", format="text", media_type="text/plain", language="de")
    commands = [
        Mint(authority=SERIES, contents=(text("a"),)),
        Mint(authority=SERIES, contents=(text("bb"),)),
        Mint(authority=SERIES, contents=(german,)),
        Mint(authority=SERIES, contents=(text("c"),), by="some body"),
        Mint(authority=SERIES, contents=(text("d"),), by="some body"),
        Mint(authority=SERIES, contents=(text("e"),), metadata={"title": "E"}),
        Mint(authority=SERIES, contents=(text("f"), german)),
        Mint(authority=SERIES, contents=(replace(german, media_type="a\r\nb"),)),
        Mint(authority=SERIES, contents=(replace(german, format="TEXT"),)),
        Mint(authority=SERIES, contents=(german, html("g"))),
        Mint(authority=SERIES, contents=(text(""),)),
    ]
    with closing(open_registrar(root, clock)) as registrar:
        together = registrar.execute_commands(commands)
        alone = [registrar.execute_commands((command,))[0] for command in commands]
    assert [type(one) for one in together] == [type(one) for one in alone]
    assert sum(isinstance(one, Receipt) for one in together) == len(commands) - 2
    with closing(SqliteRecords(root)) as records, closing(Segments(root)) as segments:
        kept = [
            _kept(records.find_record(parse(one.identifier).key), segments)
            for one in (*together, *alone)
            if isinstance(one, Receipt)
        ]
        count = len(kept) // 2
        assert kept[:count] == kept[count:]
        assert [data for _, held in kept[:3] for _, data in held] == [b"a", b"bb", b"ja"]
    with (root / "segments" / "000001.warc").open("rb") as file:
        blocks = [found.block for found in warc.read_records(file, where="")]
    half = len(blocks) // 2
    assert half == count + 1  # one brought two
    for one, other in zip(blocks[:half], blocks[half:], strict=True):
        assert one == replace(other, uri=one.uri)
        for block in (one, other):
            assert block.uri.split(".")[-2:] == [block.format, str(block.version)]


def test_each_batch_is_dated_with_its_own_time(desk: Desk) -> None:
    desk.mint(text("early"))
    desk.clock.advance(hours=1)
    desk.mint(text("late"))
    with (desk.root / "segments" / "000001.warc").open("rb") as file:
        early, late = (found.block.at for found in warc.read_records(file, where=""))
    assert early[11:13] != late[11:13]


def _kept(
    record: Record | None, segments: Segments
) -> tuple[Record, list[tuple[Representation, bytes]]]:
    """A record without its bytes, and these with what is said of them but where they lie."""
    assert record is not None
    held = [
        (
            replace(one, offset=0),
            segments.read_bytes(one),
        )
        for version in record.versions
        for one in version.representations
    ]
    return replace(record, versions=()), held


def test_documents_whose_bytes_are_refused_are_refused_alone(
    root: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All documents of a batch, or some of them: names beside them are given, without a gap."""
    mint, name = Mint(authority=SERIES, contents=(text("a"),)), Mint(authority=SERIES)
    append, refused = SegmentWriter.append, BytesAtKeeper(host="elsewhere")

    def refuse(self: SegmentWriter, name: str, version: int, content: Content) -> tuple[int, int]:
        if content.data == b"a":
            raise refused
        return append(self, name, version, content)

    monkeypatch.setattr(SegmentWriter, "append", refuse)
    kept = Mint(authority=SERIES, contents=(text("b"),))
    with closing(open_registrar(root, clock)) as registrar:
        assert registrar.execute_commands([mint, mint]) == [refused, refused]
        assert registrar.execute_commands([mint, name, mint])[::2] == [refused, refused]
        answers = registrar.execute_commands([mint, kept, mint, kept, name])
    names = [one.identifier for one in answers if isinstance(one, Receipt)]
    assert names == [f"{TODAY}/2.text.1", f"{TODAY}/3.text.1", f"{TODAY}/4"]


def test_no_more_names_are_reserved_than_there_are(root: Path, clock: Clock) -> None:
    mint = Mint(authority=SERIES)
    register = Register(identifier=parse(f"{TODAY}/{10**18 - 3}.text.1"), contents=(text("c"),))
    with closing(open_registrar(root, clock)) as registrar:
        clock.advance(days=1)
        assert isinstance(registrar.execute_commands([register])[0], Receipt)
        clock.advance(days=-1)  # a clock that was set right: its day is now the one minted under
        answers = registrar.execute_commands([mint, mint, mint, mint])
    last = 10**18 - 1
    names = [one.identifier for one in answers[:2] if isinstance(one, Receipt)]
    assert names == [f"{TODAY}/{last - 1}", f"{TODAY}/{last}"]
    assert all(isinstance(one, Conflict) for one in answers[2:])


def test_a_series_that_ends_in_no_country_is_not_minted_in(desk: Desk) -> None:
    """ "The right most component of a DOCUMENT-SERIES MUST be a two digit ISO 3166 country code"
    (section 2.2). The draft's own `oma.eop.gov` can be read, not minted in."""
    with pytest.raises(
        InvalidRequest, match="'gov' is not a current or former ISO 3166 country code"
    ):
        initialise(desk.root, series=("oma.eop.gov",))
    initialise(desk.root, series=("press.kreml.su",))
    settings = desk.root / "perdure.toml"  # where anything can be written
    settings.write_text(settings.read_text().replace('"press', '"oma.eop.gov", "press'))
    desk.reopen()
    with pytest.raises(
        InvalidRequest, match="'gov' is not a current or former ISO 3166 country code"
    ):
        desk.mint(text("a"), authority="oma.eop.gov")
    minted = desk.mint(text("a"), authority="press.kreml.su").identifier  # a former country
    assert minted == "pdi://press.kreml.su/2026/11/21/1.text.1"


def test_a_urn_of_1993_is_minted_and_never_reused(desk: Desk) -> None:
    """Opaque strings are unique without regard to case (ruling urn93-equal)."""
    fresh = {desk.mint(text("a"), authority=AUTHORITY).identifier for _ in range(50)}
    assert len(fresh) == 50
    assert all(re.fullmatch(r"URN:IANA:42117::[0-9a-z]+:::", one) for one in fresh)
    chosen = desk.mint(text("a"), authority=AUTHORITY, uid="Report-1").identifier
    assert chosen == "URN:IANA:42117::Report-1:::"
    with pytest.raises(Conflict, match="names are never reused"):
        desk.mint(text("b"), authority=AUTHORITY, uid="REPORT-1")
    desk.withdraw(chosen)
    with pytest.raises(Conflict, match="names are never reused"):
        desk.mint(text("b"), authority=AUTHORITY, uid="report-1")
    with pytest.raises(MalformedIdentifier):
        desk.mint(text("b"), authority=AUTHORITY, uid="with blank")


def test_an_ark_is_minted_on_a_shoulder_with_its_check_character(desk: Desk) -> None:
    fresh = {desk.mint(text("a"), authority=SHOULDER).identifier for _ in range(50)}
    assert len(fresh) == 50
    for one in fresh:
        minted = parse(one)
        assert isinstance(minted, Ark)
        assert one.startswith("ark:99999/fk4")
        assert minted.name[-1] == ark.compute_check_character(f"{minted.naan}/{minted.name[:-1]}")
    # the example of the noid manual: 13030/xf93gt2 has the check character q
    chosen = desk.mint(text("a"), authority=SHOULDER, uid="7x").identifier
    assert chosen == "ark:99999/fk47x" + ark.compute_check_character("99999/fk47x")
    with pytest.raises(Conflict, match="names are never reused"):
        desk.mint(text("b"), authority=SHOULDER, uid="7x")


@pytest.mark.parametrize("number", [2, 3, 555, 10**18 - 2, 10**18, 10**30])
def test_a_registration_leaves_the_numbers_of_today_to_the_counter(desk: Desk, number: int) -> None:
    """Serial numbers "SHOULD be incremented by 1 as each new PDI is minted" (section 2.4)."""
    desk.mint(text("a"))
    name = parse(f"{TODAY}/{number}.text.1")
    place = Location(uri="https://a.example/")
    for command in (
        Register(identifier=name, contents=(text("from elsewhere"),)),
        Bind(identifier=name, locations=(place,), register=True),
        Assign(identifier=name, values=()),
    ):
        with pytest.raises(InvalidRequest, match="last one is 1"):
            desk.registry.door.execute_command(command)
    desk.register(f"{TODAY}/memo", text("no number"))
    desk.register(f"{TODAY}/1.html.1", html("a known one"))
    assert desk.mint(text("b")).identifier == f"{TODAY}/2.text.1"


@pytest.mark.parametrize("day", ["2026/11/22", "2027/01/01", "10000/01/01"])
def test_a_name_of_a_day_to_come_is_not_registered(desk: Desk, day: str) -> None:
    """Numbers restart at 1 at midnight UTC."""
    for name in (f"pdi://{SERIES}/{day}/1", f"pdi://{SERIES}/{day}/memo"):
        with pytest.raises(InvalidRequest, match="its date is in the future"):
            desk.register(name, locations=(Location(uri="https://a.example"),))
    desk.clock.advance(days=1)
    assert desk.mint(text("c")).identifier == f"pdi://{SERIES}/2026/11/22/1.text.1"


@pytest.mark.parametrize(
    "name",
    [
        f"pdi://{SERIES}/2026/11/20/555.text.1",  # published elsewhere before
        "pdi://gpo.gov.us/2026/11/21/555.text.1",  # counted by others, by their clock
        "pdi://gpo.gov.us/2027/01/01/1.text.1",
        f"{TODAY}/0555.text.1",  # ruling pdi-uid: no serial number
    ],
)
def test_what_no_counter_of_ours_will_reach_is_registered(desk: Desk, name: str) -> None:
    assert desk.register(name, text("a")).identifier == name
    assert desk.mint(text("b")).identifier == f"{TODAY}/1.text.1"


def test_when_the_numbers_of_a_day_are_used_up_names_are_left(desk: Desk) -> None:
    desk.clock.advance(days=1)
    desk.register(f"{TODAY}/{10**30}.text.1", text("a"))
    desk.clock.advance(days=-1)  # the clock was wrong
    assert desk.mint(text("b")).identifier == f"{TODAY}/1.text.1"
    desk.clock.advance(days=1)
    desk.register(f"{TODAY}/{10**18 - 1}.text.1", text("c"))
    desk.clock.advance(days=-1)
    with pytest.raises(Conflict, match="no serial number is left"):
        desk.mint(text("d"))
    assert desk.mint(text("d"), uid="memo").outcome is Outcome.CREATED


# Committing
# ----------


def test_a_commit_becomes_the_next_version_with_all_its_formats(desk: Desk) -> None:
    """ "When a resource is changed in any format, version numbers for all formats MUST be updated"
    (section 2.6)."""
    name = desk.mint(text("one"), html("<p>one")).identifier
    receipt = desk.commit(name, text("two"), html("<p>two"))
    assert (receipt.outcome, receipt.identifier) == (Outcome.CREATED, f"{TODAY}/1.text.2")
    assert [one.number for one in desk.record(name).versions] == [1, 2]
    assert desk.served(name, 1, "html") == b"<p>one"
    assert desk.served(name, 2, "html") == b"<p>two"
    # "PDIs cannot be retracted": the older version is still there, whole
    assert desk.served(name, 1, "text") == b"one"


def test_another_format_of_a_version_is_no_new_version(desk: Desk) -> None:
    """ "Addition of a new FORMAT with the same semantics as an existing FORMAT for the PDI is not
    a change and does not require the version to be incremented" (section 2.6)."""
    name = desk.mint(html("<p>one")).identifier
    receipt = desk.commit(name, text("one"), version=1)
    assert (receipt.outcome, receipt.identifier) == (Outcome.CREATED, f"{TODAY}/1.text.1")
    assert desk.served(name, 1, "text") == b"one"
    assert len(desk.record(name).versions) == 1


def test_a_version_and_format_are_never_bound_to_other_bytes(desk: Desk) -> None:
    """ "Any machine representation (byte sequence) associated with formats of a versioned PDI
    never changes" (section 2.1)."""
    name = desk.mint(text("one")).identifier
    with pytest.raises(Conflict, match="permanently bound to other bytes"):
        desk.commit(name, text("other"), version=1)
    with pytest.raises(Conflict):  # not the one and the other alone, either
        desk.commit(name, html("<p>"), text("other"), version=1)
    assert desk.served(name) == b"one"
    assert [one.format for one in desk.record(name).versions[0].representations] == ["text"]


@pytest.mark.parametrize(("one", "other"), [("basic", "au"), ("jpeg", "jpg"), ("html", "HTML")])
def test_a_format_has_one_representation_whatever_it_is_called(
    desk: Desk, one: str, other: str
) -> None:
    """Ruling pdi-token: "the resolver finds the same representation", so both names of a format
    cannot have bytes of their own."""
    name = desk.mint(text("bytes", one)).identifier
    with pytest.raises(Conflict, match="permanently bound to other bytes"):
        desk.commit(name, text("other", other), version=1)
    assert desk.commit(name, text("bytes", other), version=1).outcome is Outcome.UNCHANGED
    step = desk.resolve(name.replace(f".{one}.", f".{other}."))
    assert isinstance(step, Fetch)
    assert desk.registry.listings.read_bytes(step.representation) == b"bytes"


@pytest.mark.parametrize("minted", ["text+xml", "xml"])
def test_a_record_keeps_the_token_it_was_minted_with(desk: Desk, minted: str) -> None:
    """Ruling pdi-token: "A record keeps the token it was minted with, also for later versions."

    Releases before it called text/xml `text+xml`.
    """
    old = make_content(b"<a/>", format=minted, media_type="text/xml")
    new = make_content(b"<b/>", format="xml", media_type="text/xml")
    other = make_content(b"<b/>", format="application+xml", media_type="application/xml")
    name = desk.mint(old).identifier
    assert name == f"{TODAY}/1.{minted}.1"
    assert desk.commit(name, new).identifier == f"{TODAY}/1.{minted}.2"
    assert desk.commit(name, new).identifier == f"{TODAY}/1.{minted}.2"  # no-op
    for spelled in ("xml", "text+xml"):
        for version, data in ((1, b"<a/>"), (2, b"<b/>")):
            step = desk.resolve(f"{TODAY}/1.{spelled}.{version}")
            assert isinstance(step, Fetch)
            assert desk.registry.listings.read_bytes(step.representation) == data
    assert desk.commit(name, other, version=3).identifier == f"{TODAY}/1.application+xml.3"


def test_identical_bytes_are_a_no_op_that_says_so(desk: Desk) -> None:
    name = desk.mint(text("one"), html("<p>")).identifier
    for version in (None, 1):
        for contents in ((text("one"),), (html("<p>"), text("one"))):
            receipt = desk.commit(name, *contents, version=version)
            assert (receipt.outcome, receipt.revision) == (Outcome.UNCHANGED, 1)
    assert len(desk.history(name)) == 1


def test_bytes_of_an_older_version_are_a_new_version_again(desk: Desk) -> None:
    name = desk.mint(text("one")).identifier
    desk.commit(name, text("two"))
    assert desk.commit(name, text("one")).identifier == f"{TODAY}/1.text.3"


@pytest.mark.parametrize("version", [3, 7])
def test_versions_are_dense(desk: Desk, version: int) -> None:
    name = desk.mint(text("one")).identifier
    with pytest.raises(NoSuchVersion):
        desk.commit(name, text("two"), version=version)
    assert desk.commit(name, text("two"), version=2).identifier == f"{TODAY}/1.text.2"


@pytest.mark.parametrize("version", [0, -1])
def test_there_is_no_version_0(desk: Desk, version: int) -> None:
    """ "VERSION is a positive integer greater than 0" (section 2.6)."""
    name = desk.mint(text("one")).identifier
    with pytest.raises(InvalidRequest, match="start at 1"):
        desk.commit(name, text("two"), version=version)
    ark = desk.mint(authority=SHOULDER).identifier
    with pytest.raises(InvalidRequest, match="start at 1"):
        desk.commit(ark, text("two"), version=version)


def test_a_commit_to_what_was_never_minted(desk: Desk) -> None:
    with pytest.raises(NotFound):
        desk.commit(f"{TODAY}/1", text("one"))
    with pytest.raises(InvalidRequest, match="a pattern names many"):
        desk.commit(f"{TODAY}/*", text("one"))
    with pytest.raises(InvalidRequest, match="only a whole document"):
        desk.commit(f"{TODAY}/1.text.1#char=1,2", text("one"))
    with pytest.raises(InvalidRequest, match="no bytes"):
        desk.commit(desk.mint().identifier)


def test_the_revision_that_the_caller_saw(desk: Desk) -> None:
    receipt = desk.mint(text("one"))
    name = receipt.identifier
    desk.commit(name, text("two"), expect=receipt.revision)
    with pytest.raises(PreconditionFailed, match="revision 1 was expected"):
        desk.commit(name, text("three"), expect=receipt.revision)
    with pytest.raises(PreconditionFailed):
        desk.bind(name, "https://a.example/", expect=1)
    with pytest.raises(PreconditionFailed):
        desk.withdraw(name, expect=1)
    with pytest.raises(PreconditionFailed):
        desk.alias(name, "hdl:1/2", expect=1)
    assert desk.commit(name, text("three"), expect=2).revision == 3


def test_a_reservation_gets_its_first_bytes_as_version_1(desk: Desk) -> None:
    name = desk.mint(format="html").identifier
    assert isinstance(desk.resolve(name), Description)
    assert desk.commit(name, html("<p>")).identifier == name


# Idempotency
# -----------


def test_a_repeated_request_gets_the_first_receipt(desk: Desk) -> None:
    first = desk.mint(text("one"), once="k1")
    for again in (desk.mint(text("one"), once="k1"), desk.mint(text("one"), once="k1")):
        assert again.replayed
        assert again.identifier == first.identifier
    assert desk.mint(text("one"), once="k2").identifier != first.identifier
    desk.reopen()
    assert desk.mint(text("one"), once="k1").identifier == first.identifier
    assert len(desk.history(first.identifier)) == 1


def test_a_repeated_commit_makes_one_version(desk: Desk) -> None:
    name = desk.mint(text("one")).identifier
    first = desk.commit(name, text("two"), once="k")
    desk.commit(name, text("three"))
    assert desk.commit(name, text("two"), once="k").identifier == first.identifier
    assert len(desk.record(name).versions) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"contents": (text("other"),)},
        {"contents": (text("one", "html"),)},
        {"uid": "memo"},
        {"metadata": {"title": "b"}},
        {"locations": (Location(uri="https://a.example/"),)},
    ],
)
def test_a_key_belongs_to_one_request(desk: Desk, changed: dict[str, object]) -> None:
    desk.mint(text("one"), once="k")
    with pytest.raises(InvalidRequest, match="used for a different request"):
        desk.mint(**{"contents": (text("one"),), "once": "k"} | changed)
    name = f"{TODAY}/1.text.1"
    with pytest.raises(InvalidRequest, match="used for a different request"):
        desk.commit(name, text("one"), once="k")


def test_keys_of_two_actors_are_apart(desk: Desk) -> None:
    one = desk.mint(text("one"), once="k", by="anna")
    other = desk.mint(text("one"), once="k", by="ben")
    assert one.identifier != other.identifier


def test_a_token_that_means_nothing_can_still_be_revoked(desk: Desk) -> None:
    """It may have been made before its shape was looked at."""
    token = Token(
        name="old",
        digest="0" * 64,
        operations=("mint",),
        authorities=(SERIES,),
        first_day="2026-12-01",
        last_day="2026-11-01",
    )
    with pytest.raises(InvalidRequest, match="first day"):
        desk.registry.door.execute_command(SaveToken(token=token))
    token = replace(token, revoked="2026-11-21T12:00:00Z")
    desk.registry.door.execute_command(SaveToken(token=token))


def test_keys_given_before_an_upgrade_hold() -> None:
    """What lies in registries since version 1: SHA-256 of the kind and all fields, a line each."""
    mint = Mint(authority=SERIES, contents=(text("one"),), once="k")
    digest = sha512(b"one")
    lines = [
        "Mint",
        "by=local",
        f"authority={SERIES}",
        "uid=None",
        "format=text",
        f"text text/plain {digest}",
        "locations=()",
        "metadata={}",
        "once=k",
    ]
    assert fingerprint_command(mint) == hashlib.sha256("\n".join(lines).encode()).hexdigest()
    other = Break(identifier=parse("hdl:1/2"), uri="https://a.example/", content=text("one"))
    assert fingerprint_command(other) != fingerprint_command(replace(other, content=text("two")))
    waiting = replace(text("one"), data=None, spooled="a")  # the same bytes in a file
    assert fingerprint_command(other) == fingerprint_command(replace(other, content=waiting))


def test_a_refusal_is_not_remembered(desk: Desk) -> None:
    name = f"{TODAY}/1.text.1"
    with pytest.raises(NotFound):
        desk.commit(name, text("one"), once="k")
    desk.mint(text("zero"))
    assert desk.commit(name, text("one"), once="k").outcome is Outcome.CREATED


def test_keys_are_forgotten_after_a_month(desk: Desk) -> None:
    first = desk.mint(text("one"), once="k")
    desk.clock.advance(days=31)
    desk.reopen()
    assert desk.mint(text("one"), once="k").identifier != first.identifier


# Locations
# ---------


def test_an_identifier_has_many_locations_with_and_without_bytes(desk: Desk) -> None:
    held = desk.mint(text("one")).identifier
    desk.bind(held, "https://a.example/1", "https://b.example/1")
    assert isinstance(desk.resolve(held), Fetch)
    elsewhere = desk.mint(locations=(Location(uri="https://a.example/2"),)).identifier
    step = desk.resolve(elsewhere)
    assert isinstance(step, Redirect)
    assert step.location.uri == "https://a.example/2"
    assert desk.bind(elsewhere, "https://a.example/2").outcome is Outcome.UNCHANGED
    assert desk.bind(elsewhere, "https://c.example/2").outcome is Outcome.CREATED


def test_any_scheme_is_registered_by_binding_it(desk: Desk) -> None:
    for name in (
        "hdl:4263537/4000",
        "doi:10.1000/182",
        "ark:12345/x6np1wh8k",
        "urn:isbn:9780141036144",
        "URN:IANA:1::x:::",
        "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk",
        "pdi://nara.gov.us/1997/09/01/1.text.1",
    ):
        with pytest.raises(NotFound):
            desk.bind(name, "https://a.example/")
        receipt = desk.bind(name, "https://a.example/", register=True)
        assert receipt.outcome is Outcome.CREATED
        step = desk.resolve(name)
        assert isinstance(step, Redirect)
        assert step.location.uri == "https://a.example/"
        again = desk.bind(name, "https://b.example/", register=True)
        assert (again.outcome, again.revision) == (Outcome.CREATED, 2)


def test_a_location_may_promise_its_bytes(desk: Desk) -> None:
    """ "A URI that is indirectly bound to a PDI MUST NOT change" (section 3.6.2)."""
    name = desk.mint(text("one")).identifier
    desk.bind(name, Location(uri="https://a.example/", sha512=sha512(b"one")))
    with pytest.raises(Conflict, match="promises other bytes"):  # than those held here
        desk.bind(name, Location(uri="https://b.example/", sha512=sha512(b"two")))
    with pytest.raises(Conflict, match="promises other bytes"):  # than it did before
        desk.bind(name, Location(uri="https://a.example/", sha512=sha512(b"two")))
    desk.bind(name, Location(uri="https://a.example/", weight=5))
    [kept] = desk.record(name).locations
    assert (kept.sha512, kept.weight) == (sha512(b"one"), 5)


def test_two_locations_cannot_promise_different_bytes(desk: Desk) -> None:
    name = desk.mint(
        locations=(Location(uri="https://a.example/", sha512=sha512(b"one")),), format="text"
    ).identifier
    with pytest.raises(Conflict, match="promises other bytes"):
        desk.bind(name, Location(uri="https://b.example/", sha512=sha512(b"two")))
    with pytest.raises(Conflict, match="bound with another digest"):
        desk.commit(name, text("two"), version=1)
    assert desk.commit(name, text("one"), version=1).identifier == name


def test_new_bytes_of_what_lies_elsewhere_are_its_next_version(desk: Desk) -> None:
    place = Location(uri="https://a.example/", sha512=sha512(b"one"))
    name = desk.mint(locations=(place,), format="text").identifier
    assert desk.commit(name, text("two")).identifier == f"{TODAY}/1.text.2"
    assert isinstance(desk.resolve(name), Redirect)
    # and the promised bytes themselves are no new version
    other = desk.mint(locations=(place,), format="text").identifier
    assert desk.commit(other, text("one")).identifier == f"{TODAY}/2.text.1"


def test_breaking_keeps_the_bytes_that_are_held(desk: Desk) -> None:
    """ "If the URI changes, the indirect binding MUST be broken, and the original machine
    representation associated directly with the PDI" (section 3.6.2)."""
    name = desk.mint(text("one")).identifier
    desk.bind(name, Location(uri="https://a.example/", sha512=sha512(b"one")))
    assert desk.break_(name, "https://a.example/").outcome is Outcome.CHANGED
    assert desk.record(name).locations == ()
    assert desk.served(name) == b"one"
    with pytest.raises(InvalidRequest, match="not bound"):
        desk.break_(name, "https://a.example/")


def test_breaking_takes_the_original_bytes(desk: Desk) -> None:
    place = Location(uri="https://a.example/", sha512=sha512(b"one"))
    name = desk.mint(locations=(place,)).identifier
    with pytest.raises(Conflict, match="send them, so that they are kept"):
        desk.break_(name, "https://a.example/")
    with pytest.raises(Conflict, match="not those that the location promised"):
        desk.break_(name, "https://a.example/", content=text("two"))
    desk.break_(name, "https://a.example/", content=text("one"))
    assert desk.served(name) == b"one"
    assert isinstance(desk.resolve(name), Fetch)


def test_breaking_a_later_version_keeps_it_in_its_place(desk: Desk) -> None:
    name = desk.mint(text("one")).identifier
    desk.bind(name, Location(uri="https://a.example/2", version=2, sha512=sha512(b"two")))
    desk.break_(name.replace(".1", ".2"), "https://a.example/2", content=text("two"))
    assert desk.served(name, 2) == b"two"


def test_breaking_what_promised_nothing(desk: Desk) -> None:
    name = desk.mint(locations=(Location(uri="https://a.example/"),), format="text").identifier
    desk.break_(name, "https://a.example/")
    for asked in (name, f"{TODAY}/1", f"{TODAY}/1.html"):
        step = desk.resolve(asked)
        assert isinstance(step, Gone)  # ruling: http-errors ("existed, nothing known now")
        assert step.tombstone.reason == "its location https://a.example/ was broken"
    assert desk.record(name).revision == 2
    with pytest.raises(NoSuchVersion):
        desk.resolve(f"{TODAY}/1.text.2")
    # version 1 was what the location held: other bytes are another version
    assert desk.commit(name, text("two")).identifier == f"{TODAY}/1.text.2"


def test_what_was_broken_can_be_bound_again(desk: Desk) -> None:
    name = desk.mint(locations=(Location(uri="https://a.example/"),)).identifier
    desk.break_(name, "https://a.example/")
    desk.bind(name, Location(uri="https://b.example/"))
    assert isinstance(desk.resolve(name), Redirect)
    assert desk.record(name).unbound(1) is None
    desk.break_(name, "https://b.example/")
    step = desk.resolve(name)
    assert isinstance(step, Gone)
    assert "b.example" in step.tombstone.reason
    desk.commit(name, text("one"), version=1)
    assert desk.served(name, 1) == b"one"


def test_what_one_of_two_locations_held_is_not_gone(desk: Desk) -> None:
    """Of a name without versions, and of each version by itself."""
    handle = "hdl:1/2"
    places = (Location(uri="https://a.example/"), Location(uri="https://b.example/"))
    desk.register(handle, locations=(*places, Location(uri="https://a.example/3", version=3)))
    desk.break_(handle, "https://a.example/3")
    desk.break_(handle, "https://a.example/")
    assert isinstance(desk.resolve(handle), Redirect)
    assert desk.record(handle).broken is None
    desk.break_(handle, "https://b.example/")
    step = desk.resolve(handle)
    assert isinstance(step, Gone)
    assert "a.example/3" in step.tombstone.reason  # of the highest version there was


def test_breaking_a_name_without_versions_finds_its_bytes(desk: Desk) -> None:
    name = desk.mint(text("one"), authority=SHOULDER).identifier
    desk.commit(name, text("two"))
    desk.bind(name, Location(uri="https://a.example/", sha512=sha512(b"two")))
    desk.break_(name, "https://a.example/")
    assert desk.record(name).locations == ()


# Withdrawing
# -----------


def test_withdrawn_bytes_are_not_served_and_nothing_is_retracted(desk: Desk) -> None:
    name = desk.mint(text("one")).identifier
    desk.commit(name, text("two"))
    desk.bind(name, "https://a.example/")
    generic = f"{TODAY}/1"
    receipt = desk.withdraw(generic, "superseded by order 7", by="anna")
    assert receipt.outcome is Outcome.CHANGED
    for asked in (generic, name, f"{TODAY}/1.text.2", f"{TODAY}/1.html"):
        step = desk.resolve(asked)
        assert isinstance(step, Gone)
        assert step.tombstone.reason == "superseded by order 7"
        assert (step.tombstone.by, step.tombstone.at) == ("anna", "2026-11-21T12:00:00Z")
    assert [one.number for one in desk.record(name).versions] == [1, 2]
    assert desk.withdraw(generic, "again").outcome is Outcome.UNCHANGED
    with pytest.raises(Conflict, match="withdrawn"):
        desk.commit(name, text("three"))
    with pytest.raises(Conflict, match="withdrawn"):
        desk.commit(name, text("one"), version=1)
    with pytest.raises(Conflict, match="withdrawn"):
        desk.bind(name, "https://b.example/")
    desk.reopen()
    assert isinstance(desk.resolve(name), Gone)
    assert desk.mint(text("new")).identifier == f"{TODAY}/2.text.1"


def test_no_version_is_not_version_zero(desk: Desk) -> None:
    """Taken for "none", it would withdraw the whole resource, for ever."""
    name = desk.mint(text("first")).identifier
    with pytest.raises(NoSuchVersion):
        desk.withdraw(name.rsplit(".", 2)[0], version=0)
    assert desk.withdraw(name.rsplit(".", 2)[0], version=1).outcome is Outcome.CHANGED


def test_a_withdrawn_name_is_not_minted_again(desk: Desk) -> None:
    desk.mint(text("a"), uid="memo")
    desk.withdraw(f"{TODAY}/memo")
    with pytest.raises(Conflict, match="names are never reused"):
        desk.mint(text("b"), uid="memo")


def test_one_version_is_withdrawn(desk: Desk) -> None:
    name = desk.mint(text("one"), html("<p>")).identifier
    desk.commit(name, text("two"))
    desk.withdraw(f"{TODAY}/1.text.2")
    assert isinstance(desk.resolve(f"{TODAY}/1.text.2"), Gone)
    step = desk.resolve(f"{TODAY}/1.text")  # the highest that is left
    assert isinstance(step, Fetch)
    assert str(step.identifier) == name
    with pytest.raises(Conflict, match="version 2 was withdrawn"):
        desk.commit(name, html("<p>2"), version=2)
    with pytest.raises(Conflict, match="version 2 was withdrawn"):
        desk.bind(f"{TODAY}/1.text.2", "https://a.example/")
    # the same bytes are a new version, by their owner's will, and the old one stays withdrawn
    assert desk.commit(name, text("two")).identifier == f"{TODAY}/1.text.3"
    assert isinstance(desk.resolve(f"{TODAY}/1.text.2"), Gone)
    with pytest.raises(NoSuchVersion):
        desk.withdraw(f"{TODAY}/1.text.9")


def test_withdrawing_by_the_name_on_the_receipt(desk: Desk) -> None:
    """What mint answers with names version 1, also where no bytes of it are held."""
    for fields in ({}, {"locations": (Location(uri="https://a.example/"),)}):
        name = desk.mint(**fields).identifier
        desk.withdraw(name)
        assert isinstance(desk.resolve(name), Gone)
        assert isinstance(desk.resolve(name.removesuffix(".text.1")), Gone)


def test_a_withdrawal_gives_a_reason(desk: Desk) -> None:
    name = desk.mint(text("one")).identifier
    with pytest.raises(InvalidRequest, match="a reason"):
        desk.withdraw(name, "  ")
    with pytest.raises(NotFound):
        desk.withdraw(f"{TODAY}/2")


# Names
# -----


def test_aliases_lead_both_ways_and_on(desk: Desk) -> None:
    name = f"{TODAY}/1"
    desk.mint(text("one"))
    desk.bind("hdl:1/2", "https://a.example/", register=True)
    desk.alias(name, "hdl:1/2")
    desk.alias("hdl:1/2", "ark:12345/x6")
    everything = {name, "hdl:1/2", "ark:12345/x6"}
    for asked in everything:
        assert set(desk.names(asked)) == everything
        assert desk.names(asked)[0] == asked
    assert desk.names("hdl:1/3") == ["hdl:1/3"]
    assert desk.alias(name, "HDL:1/2").outcome is Outcome.UNCHANGED
    assert desk.alias(name, name).outcome is Outcome.UNCHANGED


def test_an_alias_is_found_in_every_spelling(desk: Desk) -> None:
    """A 1993 URN is equal without regard to case; a PDI's formats are one resource."""
    desk.mint(text("one"))
    desk.alias(f"{TODAY}/1", "URN:IANA:1::Foo:::")
    assert f"{TODAY}/1" in desk.names("URN:IANA:1::FOO:::")
    desk.mint(text("two"))
    desk.alias(f"{TODAY}/1.text.1", f"{TODAY}/2.text.1")
    assert f"{TODAY}/1" in desk.names(f"{TODAY}/2")
    assert f"{TODAY}/1" in desk.names(f"{TODAY}/2.html")
    assert f"{TODAY}/2" in desk.names(f"{TODAY}/1")


def test_a_record_is_found_by_what_its_content_is_about(desk: Desk) -> None:
    one = desk.mint(text("one")).identifier
    about = tuple(map(parse, (one, f"{one}#char=0,1", "pdi://oma.eop.gov.us/1995/")))
    answers = [
        desk.mint(text(name), targets=targets)
        for name, targets in (("a", about), ("b", about[1:2]), ("c", ()))
    ]
    names = [parse(answer.identifier).resource for answer in answers]
    listings = desk.registry.listings
    for name, found in (
        (one, names[:2]),
        (f"{one}#char=3,4", names[:2]),
        ("pdi://oma.eop.gov.us/1995/", names[:1]),
        ("pdi://oma.eop.gov.us/1996/", []),
        (answers[0].identifier, []),
    ):
        assert [held.identifier for held in listings.walk_targeting(parse(name))] == found


def test_what_is_bound_to_a_location_and_what_has_the_same_bytes(desk: Desk) -> None:
    one = desk.mint(text("same")).identifier
    other = desk.mint(text("same")).identifier
    desk.bind(other, "https://a.example/")
    resolver = desk.registry.listings
    assert list(map(str, resolver.find_same_bytes(sha512(b"same")))) == [one, other]
    assert list(map(str, resolver.find_bound("https://a.example/"))) == [other]
    desk.break_(other, "https://a.example/")
    assert resolver.find_bound("https://a.example/") == ()


# History
# -------


def test_every_revision_is_kept(desk: Desk) -> None:
    name = desk.mint(text("one"), by="anna").identifier
    desk.clock.advance(hours=1)
    desk.commit(name, text("two"), by="ben")
    desk.bind(name, "https://a.example/", by="cleo")
    desk.withdraw(f"{TODAY}/1", by="dora")
    revisions = desk.history(name)
    assert [(one.revision, one.by) for one in revisions] == [
        (1, "anna"),
        (2, "ben"),
        (3, "cleo"),
        (4, "dora"),
    ]
    assert [len(one.versions) for one in revisions] == [1, 2, 2, 2]
    assert revisions[0].at == "2026-11-21T12:00:00Z"
    assert revisions[1].at == "2026-11-21T13:00:00Z"


# Batches
# -------


def test_a_refused_command_spoils_nothing_for_the_others(desk: Desk) -> None:
    """Commands of one batch are carried out in order, each for itself."""
    committer = desk.registry.door
    committer.elect_leader()
    registrar = committer.committer._registrar  # type: ignore[union-attr]  # elected just now
    mint = Mint(authority=SERIES, contents=(text("a"),))
    broken = Mint(authority=SERIES, metadata={"title": "\ud800"})
    answers = registrar.execute_commands([mint, Mint(authority="nobody.us"), broken, mint])
    assert [getattr(one, "identifier", type(one).__name__) for one in answers] == [
        f"{TODAY}/1.text.1",
        "UnknownAuthority",
        "UnspeakableValue",
        f"{TODAY}/2.text.1",
    ]
    assert desk.served(f"{TODAY}/2") == b"a"


def test_commands_of_a_batch_see_each_other(desk: Desk) -> None:
    desk.registry.door.elect_leader()
    registrar = desk.registry.door.committer._registrar  # type: ignore[union-attr]
    name = parse(f"{TODAY}/1")
    answers = registrar.execute_commands(
        [
            Mint(authority=SERIES, contents=(text("a"),), once="k"),
            Mint(authority=SERIES, contents=(text("a"),), once="k"),
            Commit(identifier=name, contents=(text("b"),)),
            Commit(identifier=name, contents=(text("b"),)),
            Bind(identifier=name, locations=(Location(uri="https://a.example/"),)),
            Withdraw(identifier=name, reason="enough"),
            Commit(identifier=name, contents=(text("c"),)),
            Mint(authority=SERIES, uid="memo"),
            Mint(authority=SERIES, uid="memo"),
        ]
    )
    outcomes = [getattr(one, "outcome", type(one).__name__) for one in answers]
    assert outcomes == [
        "created",
        "created",
        "created",
        "unchanged",
        "created",
        "changed",
        "NameWithdrawn",
        "created",
        "NameTaken",
    ]
    assert len(desk.history(str(name))) == 4


# Uploads
# -------


def test_what_was_spooled_is_kept_or_dropped(desk: Desk) -> None:
    """A file in `incoming` belongs to its command: nothing is left behind when it is answered."""
    incoming = desk.root / "incoming"
    data = b"x" * (9 << 20)
    name = desk.mint(large(desk.registry, data)).identifier
    assert desk.served(name, 1, "octet-stream") == data
    with pytest.raises(NotFound):
        desk.commit(f"{TODAY}/9", large(desk.registry, data))
    with pytest.raises(UnknownAuthority):
        desk.mint(large(desk.registry, data), authority="nobody.us")
    unchanged = desk.commit(name, large(desk.registry, data))
    assert unchanged.outcome is Outcome.UNCHANGED
    assert list(incoming.iterdir()) == []
    assert len(list((desk.root / "segments").iterdir())) == 1


@pytest.mark.parametrize("first", [True, False])
def test_an_upload_outlives_the_mistake_of_another(desk: Desk, *, first: bool) -> None:
    """Commands that go through together have nothing to do with one another."""
    data = b"x" * (9 << 20)
    known = desk.mint(text("one")).identifier
    good = Mint(authority=SERIES, contents=(large(desk.registry, data),))
    refused = Commit(identifier=parse(known), contents=(large(desk.registry, data),), expect=7)
    desk.registry.close()
    broken = Mint(authority=SERIES, metadata={"title": "\ud800"})
    registrar = open_registrar(desk.root, desk.clock)
    batch = [good, refused, broken] if first else [broken, refused, good]
    answers = [type(one).__name__ for one in registrar.execute_commands(batch)]
    assert sorted(answers) == ["Receipt", "RevisionNotCurrent", "UnspeakableValue"]
    registrar.close()
    assert list((desk.root / "incoming").iterdir()) == []
    desk.reopen()
    assert desk.served(f"{TODAY}/2", 1, "octet-stream") == data
    assert desk.problems() == []


# Two persons
# -----------


def save_token(desk: Desk, name: str, *, granted_by: str = "", key: str = "") -> str:
    token = Token(
        name=name,
        digest=f"digest of {name}",
        operations=("withdraw", "delegate"),
        authorities=("*",),
        granted_by=granted_by,
        key=key,
    )
    desk.registry.door.execute_command(SaveToken(token=token))
    return name


def refuse(desk: Desk, name: str, **fields: Any) -> Receipt:
    return desk.registry.door.execute_command(Refuse(identifier=parse(name), **fields))


def test_a_withdrawal_can_need_two_persons(desk: Desk) -> None:
    """Ruling two-persons: "the second person sees and confirms the reason, word for word"."""
    desk.reopen(withdrawal_persons=2)
    anna, bert = save_token(desk, "anna"), save_token(desk, "bert")
    name = desk.mint(text("x")).identifier
    for reason in ("a mistake", "I do insist"):
        proposed = desk.withdraw(name, reason, by=anna, bearer=anna)
        assert proposed.outcome is Outcome.PROPOSED
    assert isinstance(desk.resolve(name), Fetch)
    whole = name.rsplit(".", 2)[0]  # another withdrawal than Anna's: hers is of one version
    assert desk.withdraw(whole, "all of it", by=bert, bearer=bert).outcome is Outcome.PROPOSED
    assert isinstance(desk.resolve(name), Fetch)
    desk.withdraw(name, "a mistake indeed", by=anna, bearer=anna)
    with pytest.raises(Conflict, match="a mistake indeed"):
        desk.withdraw(name, "a mistake", by=bert, bearer=bert)  # what he read before she changed it
    last = desk.withdraw(name, "a mistake indeed", by=bert, bearer=bert)
    assert last.outcome is Outcome.CHANGED
    gone = desk.resolve(name)
    assert isinstance(gone, Gone)
    assert (gone.tombstone.reason, gone.tombstone.by) == ("a mistake indeed", "anna, bert")
    assert desk.record(name).proposal is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("head", "puppet"),
        ("puppet", "head"),
        ("puppet", "second puppet"),
        ("robot", "robot 2"),
        ("robot", "child of robot 2"),
        ("", ""),
        ("head", "head"),
    ],
)
def test_one_person_with_two_tokens_is_one(desk: Desk, first: str, second: str) -> None:
    """Ruling two-persons: "only if they have different keys and no grant chain in common below the
    operator; whoever works on the machine itself is one person, whatever `--by` says"."""
    desk.reopen(withdrawal_persons=2)
    key = base64.b64encode(bytes(32)).decode()
    save_token(desk, "head")
    save_token(desk, "puppet", granted_by="head")
    save_token(desk, "second puppet", granted_by="puppet")
    save_token(desk, "robot", key=key)
    save_token(desk, "robot 2", key=key)
    save_token(desk, "child of robot 2", granted_by="robot 2")
    name = desk.mint(text("x")).identifier
    for number, bearer in enumerate((first, second, second)):
        receipt = desk.withdraw(name, "r", by=bearer or f"clerk {number}", bearer=bearer)
        assert receipt.outcome is Outcome.PROPOSED
    assert desk.withdraw(name, "r", by=save_token(desk, "other"), bearer="other").outcome is (
        Outcome.CHANGED
    )


def test_a_proposal_is_void_after_another_version(desk: Desk) -> None:
    """Ruling two-persons: "is void when a further version is committed"."""
    desk.reopen(withdrawal_persons=2)
    anna = save_token(desk, "anna")
    name = desk.mint(text("x")).identifier
    whole = name.rsplit(".", 2)[0]
    desk.withdraw(whole, "r", by=anna, bearer=anna)
    desk.commit(whole, text("y"))
    assert desk.withdraw(whole, "r").outcome is Outcome.PROPOSED
    assert isinstance(desk.resolve(name), Fetch)
    assert desk.withdraw(whole, "r", by=anna, bearer=anna).outcome is Outcome.CHANGED


def test_a_proposal_ends_after_thirty_days(desk: Desk) -> None:
    """Ruling two-persons: "ends after 30 days (a setting)"."""
    for days, late in ((30, 29), (30, 31), (7, 6), (7, 8)):
        desk.reopen(withdrawal_persons=2, proposal_days=days)
        bearer = save_token(desk, f"{days} {late}")
        name = desk.mint(text(bearer)).identifier
        desk.withdraw(name, "r", by=bearer, bearer=bearer)
        desk.clock.advance(days=late)
        outcome = desk.withdraw(name, "r").outcome
        assert outcome is (Outcome.PROPOSED if late > days else Outcome.CHANGED)


def test_a_proposal_is_listed_and_refused(desk: Desk) -> None:
    """Ruling two-persons: "can be listed, seen and refused"."""
    desk.reopen(withdrawal_persons=2)
    name = desk.mint(text("x")).identifier
    desk.withdraw(name, "r")
    now = desk.record(name).at
    (row,) = desk.registry.listings.list_proposals(now)
    assert row.record.proposal is not None
    assert (row.record.proposal.reason, row.record.proposal.revision) == ("r", 1)
    with pytest.raises(Conflict, match="no withdrawal"):
        refuse(desk, name.rsplit(".", 2)[0])  # of the whole, nobody proposed it
    assert refuse(desk, name, by="bert").outcome is Outcome.CHANGED
    assert desk.registry.listings.list_proposals(now) == ()
    with pytest.raises(Conflict, match="no withdrawal"):
        refuse(desk, name)
    assert desk.withdraw(name, "r").outcome is Outcome.PROPOSED


def test_a_proposal_of_an_older_registry_is_void(desk: Desk) -> None:
    """It does not say which token it came from."""
    older = Record(proposal=Proposal(reason="r", at="2026-11-21T01:02:03Z", by="anna"))
    assert find_standing(older) is None


def test_what_is_kept_cannot_be_removed(desk: Desk) -> None:
    """Not even by who has the file open, as long as he does not take the locks off."""
    name = desk.mint(text("x")).identifier
    desk.withdraw(name, "r")
    connection = apsw.Connection(str(desk.root / FILE))
    forbidden = (
        "DELETE FROM records",
        "UPDATE records SET record='{}'",
        "UPDATE records SET key=key || 'x'",
        "DELETE FROM history",
        "UPDATE history SET record='{}'",
    )
    for statement in forbidden:
        with pytest.raises(apsw.ConstraintError):
            connection.execute(statement)
    connection.close()
    assert len(desk.history(name)) == 2


def test_a_version_that_lacks_a_format_says_so(desk: Desk) -> None:
    """Section 2.6: "versions are incremented together" (ruling: formats-together)."""
    name = desk.mint(text("plain"), html("<p>page")).identifier
    whole = name.rsplit(".", 2)[0]
    assert desk.commit(whole, text("plainer")).left_behind == (f"{whole}.html.1",)
    assert desk.commit(whole, text("plainest"), html("<p>new")).left_behind == ()
    assert desk.commit(whole, text("last")).left_behind == (f"{whole}.html.3",)
    late = Commit(identifier=parse(whole), contents=(html("<p>last"),), version=4)
    assert desk.registry.door.execute_command(late).left_behind == ()


def test_a_version_that_lacks_a_format_can_be_refused(desk: Desk) -> None:
    name = desk.mint(text("plain"), html("<p>page")).identifier
    desk.reopen(formats_together="refuse")
    with pytest.raises(Conflict, match=re.escape("html.1")):
        desk.commit(name.rsplit(".", 2)[0], text("plainer"))
    assert desk.commit(name, text("plainer"), html("<p>new")).outcome is Outcome.CREATED


def test_what_may_be_written_is_looked_up_only_after_a_revision(
    tmp_path: Path, clock: Clock
) -> None:
    """Mints of names alone ask for it once, however many batches they come in."""
    asked: list[None] = []
    initialise(tmp_path, series=(SERIES,))
    with closing(open_registrar(tmp_path, clock, check=lambda: asked.append(None))) as registrar:
        for _ in range(3):
            answers = registrar.execute_commands([Mint(authority=SERIES)] * 2)
            assert all(isinstance(one, Receipt) for one in answers)
        assert len(asked) == 1
        token = Token(name="clerk", digest="0" * 64, operations=("mint",), authorities=(SERIES,))
        registrar.execute_commands([SaveToken(token=token)])
        for _ in range(2):
            registrar.execute_commands([Mint(authority=SERIES)])
        assert len(asked) == 2
