"""Packages, bags and listings: as documents, and as collections of their members."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import tarfile
import zipfile

import pytest
from tests.conftest import TODAY
from tests.upkeep.deposit.conftest import Depositor, pick

from perdure.ids import parse
from perdure.upkeep.collection.making import load_held
from perdure.upkeep.deposit import packages
from perdure.upkeep.deposit.listings import read_bag, read_xml_listing

MBOX = (
    b"From anna@example.org Mon Sep  1 12:00:00 1997\n"
    b"From: =?iso-8859-1?q?Anna_M=FCller?= <anna@example.org>\n"
    b"Subject: Names\nDate: Mon, 1 Sep 1997 12:00:00 +0000\n\n"
    b"Dear all,\n>From here on\nFrom there no year\n\n"
    b"From bob@example.org Tue Sep  2 12:00:00 1997\n"
    b"Subject: Re: Names\n\nYes\n"
)


def make_zip(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), data)
    return file.getvalue()


def make_tar(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return file.getvalue()


def list_members(depositor: Depositor, name: str) -> list[tuple[str, str]]:
    held = load_held(depositor.desk.registry, parse(name))
    return [(one.identifier, one.name) for one in held.collection.members]


def test_a_package_is_one_document_unless_it_is_to_be_opened(depositor: Depositor) -> None:
    depositor.write_file("letters.zip", make_zip(a_txt=b"a"))
    (receipt,) = depositor.deposit()
    assert receipt["identifier"] == f"{TODAY}/1.zip.1"


def test_a_zip_becomes_a_collection_of_its_members(depositor: Depositor) -> None:
    data = make_zip(
        report_txt=b"report", report_html=b"<!DOCTYPE html>report", b__c_txt=b"c", empty_txt=b""
    )
    depositor.write_file("letters.zip", data)
    receipts = depositor.deposit(packages="collections")
    assert pick(receipts, "file", "member", "status", "identifier") == [
        ("letters.zip", "report.txt", "minted", f"{TODAY}/1.text.1"),
        ("letters.zip", "report.html", "minted", f"{TODAY}/1.html.1"),
        ("letters.zip", "b/c.txt", "minted", f"{TODAY}/2.text.1"),
        ("letters.zip", "empty.txt", "skipped", ""),
        ("letters.zip", "", "minted", f"{TODAY}/3.json.1"),
    ]
    assert list_members(depositor, f"{TODAY}/3") == [
        (f"{TODAY}/1.text.1", "report.txt"),
        (f"{TODAY}/1.html.1", "report.html"),
        (f"{TODAY}/2.text.1", "b/c.txt"),
    ]
    assert depositor.desk.served(f"{TODAY}/2") == b"c"
    assert load_held(depositor.desk.registry, parse(f"{TODAY}/3")).collection.title == "letters.zip"


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_a_tar_becomes_a_collection(depositor: Depositor, compress: type[bytes]) -> None:
    data = make_tar({"x/a.txt": b"a", "x/b.txt": b"b", "../../etc/c.txt": b"c"})
    suffix = {bytes: "", gzip.compress: ".gz", bz2.compress: ".bz2"}[compress]
    depositor.write_file(f"old.tar{suffix}", compress(data))
    receipts = depositor.deposit(packages="collections")
    assert pick(receipts, "member", "status", "why") == [
        ("x/a.txt", "minted", ""),
        ("x/b.txt", "minted", ""),
        ("../../etc/c.txt", "minted", ""),  # only a name: nothing is unpacked
        ("link", "skipped", "a link or a device"),
        ("", "minted", "the members of this tar"),
    ]
    assert [one for one, _ in list_members(depositor, f"{TODAY}/4")] == [
        f"{TODAY}/{at}.text.1" for at in (1, 2, 3)
    ]


def test_an_mbox_becomes_its_messages(depositor: Depositor) -> None:
    depositor.write_file("mail.mbox", MBOX)
    receipts = depositor.deposit(packages="collections", inside=True)
    assert pick(receipts, "member", "identifier") == [
        ("message-1.eml", f"{TODAY}/1.rfc822.1"),
        ("message-2.eml", f"{TODAY}/2.rfc822.1"),
        ("", f"{TODAY}/3.json.1"),
    ]
    first = depositor.desk.served(f"{TODAY}/1", format="rfc822")
    assert first.startswith(b"From: =?iso")
    assert first.endswith(b"From there no year\n")
    about = depositor.desk.record(f"{TODAY}/1").about
    assert about is not None
    assert (about.title, about.creators[0].name, about.derived) == ("Names", "Anna Müller", "mail")
    assert about.dates[0].value == "1997-09-01"


def test_a_bomb_is_kept_whole(depositor: Depositor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_SURE", 1 << 20)
    depositor.write_file("bomb.zip", make_zip(a_txt=b"\0" * (8 << 20)))
    depositor.write_file("bomb.tar.gz", gzip.compress(make_tar({"a": b"\0" * (8 << 20)})))
    (depositor.source / "torn.zip").write_bytes(make_zip(a_txt=b"abc" * 1000)[:-30])
    rows = depositor.plan(packages="collections")
    assert pick(rows, "file", "member", "action") == [
        ("bomb.tar.gz", "", "mint"),
        ("bomb.zip", "", "mint"),
        ("torn.zip", "", "mint"),
    ]
    assert "kept whole: it expands to more than" in rows[0]["why"]
    assert "kept whole: it expands to more than" in rows[1]["why"]
    assert "kept whole" in rows[2]["why"]


def test_a_damaged_member_is_told(depositor: Depositor) -> None:
    data = bytearray(make_zip(a_txt=bytes(range(256)) * 40, b_txt=b"good"))
    data[60] ^= 0xFF
    depositor.write_file("x.zip", bytes(data))
    rows = depositor.plan(packages="collections")
    assert pick(rows, "member", "action") == [
        ("a.txt", "skip"),
        ("b.txt", "mint"),
        ("", "collection"),
    ]


# Listings
# --------

EAD = b"""<?xml version="1.0"?>
<!DOCTYPE ead PUBLIC "+//ISBN//DTD ead.dtd//EN" "http://x.example/ead.dtd">
<ead><eadheader><filedesc><titlestmt><titleproper>Papers</titleproper></titlestmt></filedesc>
</eadheader><archdesc level="collection"><did>
<unittitle>Papers of <emph>Anna</emph> M\xc3\xbcller</unittitle></did>
<dsc><c01><did><unittitle>A letter</unittitle><unitdate normal="1997-09-01">1 Sept</unitdate>
<dao href="scans/1.txt"/><dao href="scans/missing.txt"/></did></c01>
<c01><did><unittitle>Elsewhere</unittitle><dao href="https://x.example/2.txt"/>
<dao href="../../etc/passwd"/></did></c01></dsc></archdesc></ead>"""

METS = b"""<mets:mets xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink"
 LABEL="A volume"><mets:fileSec><mets:fileGrp>
<mets:file ID="F1" MIMETYPE="text/plain" CHECKSUMTYPE="MD5" CHECKSUM="%s">
<mets:FLocat LOCTYPE="URL" xlink:href="p%%201.txt"/></mets:file>
<mets:file ID="F2"><mets:FLocat LOCTYPE="URL" xlink:href="./p2.txt"/></mets:file>
</mets:fileGrp></mets:fileSec><mets:structMap><mets:div LABEL="Volume"><mets:div LABEL="Page 1">
<mets:fptr FILEID="F1"/></mets:div><mets:div><mets:fptr FILEID="F2"/></mets:div></mets:div>
</mets:structMap></mets:mets>"""


def test_a_bag_is_checked_and_becomes_a_collection(depositor: Depositor) -> None:
    files = {"data/a.txt": b"a", "data/x/b.txt": b"b", "data/bad.txt": b"bad"}
    manifest = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()
    )
    manifest += f"{'0' * 64}  data/missing.txt\n"
    for name, data in files.items():
        depositor.write_file(f"bag/{name}", data if name != "data/bad.txt" else b"worse")
    depositor.write_file("bag/bagit.txt", "BagIt-Version: 1.0\n")
    depositor.write_file("bag/manifest-sha256.txt", manifest)
    depositor.write_file(
        "bag/bag-info.txt",
        "External-Description: Letters of\n  Anna\nSource-Organization: Archive\n"
        "Bagging-Date: 1997-09-01\n",
    )
    depositor.write_file("after.txt", "after")
    receipts = depositor.deposit(packages="collections")
    told = {row["file"]: (row["status"], row["why"]) for row in receipts}
    assert told["bag/data/bad.txt"] == ("skipped", "its digest is not the one that BagIt lists")
    assert told["bag/data/missing.txt"] == ("skipped", "listed by BagIt, but not there")
    assert told["bag"] == ("minted", "the members of this BagIt")
    name = next(row["identifier"] for row in receipts if row["file"] == "bag")
    members = [one for _, one in list_members(depositor, name)]
    assert members == [
        "bag/bag-info.txt", "bag/bagit.txt", "bag/manifest-sha256.txt", "bag/data/a.txt",
        "bag/data/x/b.txt",
    ]  # fmt: skip
    held = load_held(depositor.desk.registry, parse(name)).collection
    assert (held.title, held.creators, held.date) == ("Letters of Anna", ("Archive",), "1997-09-01")


def test_a_finding_aid_describes_its_files(depositor: Depositor) -> None:
    depositor.write_file("ead.xml", EAD)
    depositor.write_file("scans/1.txt", "letter")
    depositor.write_file("scans/other.txt", "other")
    rows = depositor.plan(packages="collections")
    told = {row["file"]: row for row in rows if row["action"] != "collection"}
    letter = told["scans/1.txt"]
    assert (letter["title"], letter["date"], letter["described_by"]) == (
        "A letter", "1997-09-01", "EAD",
    )  # fmt: skip
    assert told["scans/missing.txt"]["why"] == "listed by EAD, but not there"
    assert told["scans/other.txt"]["collection"] == ""
    assert rows[-1]["title"] == "Papers of Anna Müller"
    about_plain = depositor.plan()
    assert {row["action"] for row in about_plain} == {"mint", "skip"}


def test_mets_checks_and_names_its_files(depositor: Depositor) -> None:
    depositor.write_file("mets.xml", METS % hashlib.md5(b"one").hexdigest().encode())
    depositor.write_file("p 1.txt", "one")
    depositor.write_file("p2.txt", "two")
    receipts = depositor.deposit(packages="collections")
    assert pick(receipts, "file", "status") == [
        ("mets.xml", "minted"), ("p 1.txt", "minted"), ("p2.txt", "minted"), ("mets.xml", "minted"),
    ]  # fmt: skip
    about = depositor.desk.record(f"{TODAY}/2").about
    assert about is not None
    assert (about.title, about.derived) == ("Page 1", "")


def test_listed_files_elsewhere_are_told(depositor: Depositor) -> None:
    """The issue: "told, never silently taken"."""
    depositor.write_file(
        "m/mets.xml",
        b"""<mets xmlns="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink">
        <fileSec><fileGrp><file ID="a"><FLocat xlink:href="../../etc/passwd"/></file>
        <file ID="b"><FLocat xlink:href="https://elsewhere.example/x.tif"/></file></fileGrp>
        </fileSec></mets>""",
    )
    depositor.write_file(
        "ead.xml",
        b"""<ead xmlns:xlink="http://www.w3.org/1999/xlink"><archdesc><dao xlink:href="/e.txt"/>
        <dao xlink:href="here.txt"/></archdesc></ead>""",
    )
    depositor.write_file("here.txt", "here")
    depositor.write_file("bag/bagit.txt", "BagIt-Version: 1.0\n")
    depositor.write_file("bag/manifest-md5.txt", f"{'0' * 32}  ../up.txt\n")
    receipts = depositor.deposit()
    told = {(row["file"], row["why"]) for row in receipts if row["status"] == "skipped"}
    assert told == {
        ("m/mets.xml", "it lists ../../etc/passwd, which is not in the directory"),
        ("m/mets.xml", "it lists https://elsewhere.example/x.tif, which is not in the directory"),
        ("ead.xml", "it lists /e.txt, which is not in the directory"),
        ("bag/bagit.txt", "it lists ../up.txt, which is not in the directory"),
    }
    minted = {row["file"] for row in receipts if row["status"] == "minted"}
    assert minted == {
        "ead.xml", "here.txt", "m/mets.xml", "bag/bagit.txt", "bag/manifest-md5.txt"
    }  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        b"<ead><archdesc>",
        b"<html/>",
        b'<!DOCTYPE ead [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ead>&b;</ead>',
        b"",
        b"\xff\xfe<",
    ],
)
def test_xml_that_is_no_listing(data: bytes) -> None:
    assert read_xml_listing(data) is None


def test_a_bag_without_information() -> None:
    bag = read_bag(
        {b"bagit.txt": b"", b"manifest-md5.txt": b"zz  data/a\n" + b"0" * 32 + b" */etc/x\n"}
    )
    assert (bag.title, bag.files) == ("", {})


def test_a_collection_of_the_same_members_is_not_minted_again(depositor: Depositor) -> None:
    depositor.write_file("letters.zip", make_zip(a_txt=b"a", b_txt=b"b"))
    first = depositor.deposit(packages="collections")
    assert pick(first, "status", "identifier")[-1] == ("minted", f"{TODAY}/3.json.1")
    again = depositor.deposit(packages="collections")
    assert pick(again, "member", "status", "identifier") == [
        ("a.txt", "same", f"{TODAY}/1.text.1"),
        ("b.txt", "same", f"{TODAY}/2.text.1"),
        ("", "same", f"{TODAY}/3.json.1"),
    ]
    depositor.write_file("letters.zip", make_zip(a_txt=b"a", c_txt=b"c"))
    third = depositor.deposit(packages="collections")
    assert pick(third, "status", "identifier")[-1] == ("minted", f"{TODAY}/5.json.1")
