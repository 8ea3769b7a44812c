"""The registrar against a model of a few lines: whatever is asked of it in whatever order.

The model is a dictionary of promises. The registrar may refuse what it likes, as long as it refuses
the same as the model does; it may never forget, change or take back what it has promised, not even
over restarts, withdrawals and sealing.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from tests.conftest import SERIES, Clock, large, make_place, sha512, text

from perdure.errors import Conflict, NoSuchVersion, PerdureError
from perdure.ids import parse, pdi
from perdure.model.commands import (
    Alias,
    Bind,
    Break,
    Command,
    Commit,
    Content,
    Mint,
    Outcome,
    Receipt,
    Withdraw,
)
from perdure.model.queries import Fetch, Gone, Query
from perdure.model.records import Location
from perdure.registry import Registry, initialise

FORMATS = ("text", "html")
BODIES = (b"", b"one", b"two", b"three" * 1000)
bodies = st.sampled_from(BODIES)
formats = st.sampled_from(FORMATS)
ADDRESS = "https://a.example/"


class Document:
    """What was promised about one identifier."""

    def __init__(self) -> None:
        self.bytes: dict[tuple[int, str], bytes] = {}
        self.gone: set[int] = set()
        self.withdrawn = False
        self.revision = 1

    @property
    def highest(self) -> int:
        return max((version for version, _ in self.bytes), default=0)

    def newest(self) -> dict[str, bytes]:
        return {
            form: data for (version, form), data in self.bytes.items() if version == self.highest
        }


class Registrar(RuleBasedStateMachine):
    """Mints, commits, binds, withdraws, restarts; compares with the model after each step."""

    documents: ClassVar[Bundle[str]] = Bundle("documents")

    def __init__(self) -> None:
        super().__init__()
        self.resources = ExitStack()
        place = self.resources.enter_context(make_place())
        self.root = place / "registry"
        initialise(self.root, series=(SERIES,))
        self.clock = Clock()
        self.known: dict[str, Document] = {}
        self.serials: dict[str, int] = {}
        self.open()

    def open(self) -> None:
        environment = {"PERDURE_SEGMENT_BYTES": "6000"}
        self.registry = Registry(self.root, environment=environment, clock=self.clock)

    def teardown(self) -> None:
        self.registry.close()
        self.resources.close()

    def execute(self, command: Command) -> Receipt:
        return self.registry.door.execute_command(command)

    # what is done
    # ------------

    @rule(target=documents, data=bodies, more=st.booleans())
    def mint(self, data: bytes, more: bool) -> str:
        contents = [text(data)] + ([text(data + b"!", "html")] if more else [])
        return self.minted(tuple(contents), uid=None)

    @rule(target=documents)
    def mint_a_large_one(self) -> str:
        return self.minted((large(self.registry, b"x" * (9 << 20), "text"),), uid=None)

    @rule(target=documents)
    def reserve(self) -> str:
        return self.minted((), uid=None)

    @rule(target=documents, uid=st.sampled_from(["memo", "http://a.example/", "HTTP://A.example/"]))
    def mint_a_name(self, uid: str) -> str:
        day = self.clock.moment.strftime("%Y/%m/%d")
        name = pdi.parse_pdi(f"pdi://{SERIES}/{day}/{pdi.Pdi.encapsulate(uid)}")
        taken = any(pdi.parse_pdi(one).key == name.key for one in self.known)
        try:
            return self.minted((text("named"),), uid=uid)
        except Conflict:
            assert taken
            return next(one for one in self.known if pdi.parse_pdi(one).key == name.key)

    def minted(self, contents: tuple[Content, ...], uid: str | None) -> str:
        receipt = self.execute(Mint(authority=SERIES, contents=contents, uid=uid))
        name = pdi.parse_pdi(receipt.identifier)
        assert (name.format, name.version) == (("text", 1) if contents else (None, None))
        day = self.clock.moment.strftime("%Y/%m/%d")
        assert name.date == day
        if uid is None:
            self.serials[day] = self.serials.get(day, 0) + 1
            assert name.serial == self.serials[day]
        document = Document()
        for one in contents:
            data = b"x" * (9 << 20) if one.data is None else one.data
            document.bytes[1, one.format] = data
        assert str(name.resource) not in self.known
        self.known[str(name.resource)] = document
        return str(name.resource)

    @rule(name=documents, data=bodies, some=st.sets(formats, min_size=1))
    def commit_the_next_version(self, name: str, data: bytes, some: set[str]) -> None:
        document = self.known[name]
        contents = tuple(text(data, form) for form in sorted(some))
        same = document.highest not in document.gone and all(
            document.newest().get(form) == data for form in some
        )
        try:
            receipt = self.execute(Commit(identifier=parse(name), contents=contents))
        except Conflict:
            assert document.withdrawn
            return
        assert not document.withdrawn
        if same and document.bytes:
            assert receipt.outcome is Outcome.UNCHANGED
            return
        assert receipt.outcome is Outcome.CREATED
        number = document.highest + 1
        assert pdi.parse_pdi(receipt.identifier).version == number
        document.bytes |= {(number, form): data for form in some}
        document.revision += 1

    @rule(name=documents, data=bodies, form=formats, number=st.integers(1, 4))
    def commit_to_a_version(self, name: str, data: bytes, form: str, number: int) -> None:
        document = self.known[name]
        held = document.bytes.get((number, form))
        command = Commit(identifier=parse(name), contents=(text(data, form),), version=number)
        try:
            receipt = self.execute(command)
        except NoSuchVersion:
            assert number > document.highest + 1
        except Conflict:
            other = held is not None and held != data
            assert other or document.withdrawn or number in document.gone
        else:
            assert held in (None, data)
            assert receipt.outcome is (Outcome.CREATED if held is None else Outcome.UNCHANGED)
            if held is None:
                document.bytes[number, form] = data
                document.revision += 1

    @rule(name=documents, data=bodies | st.none())
    def bind(self, name: str, data: bytes | None) -> None:
        """To the newest version as text, with a promise or without."""
        document = self.known[name]
        number = document.highest or 1
        digest = None if data is None else sha512(data)
        location = Location(uri=ADDRESS, version=number, format="text", sha512=digest)
        held = document.bytes.get((number, "text"))
        if number not in {version for version, _ in document.bytes} or held is None:
            return  # nothing is held to compare it with
        try:
            receipt = self.execute(Bind(identifier=parse(name), locations=(location,)))
        except Conflict:
            other = data is not None and data != held
            assert other or document.withdrawn or number in document.gone
        else:
            assert data in (None, held)
            document.revision += receipt.outcome is not Outcome.UNCHANGED

    @rule(name=documents)
    def break_binding(self, name: str) -> None:
        """What was held stays held."""
        with suppress(PerdureError):
            self.execute(Break(identifier=parse(name), uri=ADDRESS))
            self.known[name].revision += 1

    @rule(name=documents, other=documents)
    def alias(self, name: str, other: str) -> None:
        receipt = self.execute(Alias(identifier=parse(name), other=parse(other)))
        self.known[name].revision += receipt.outcome is not Outcome.UNCHANGED
        found = self.registry.listings.list_names(parse(other))
        assert parse(name).key in {one.key for one in found}

    @rule(name=consumes(documents), whole=st.booleans())
    def withdraw(self, name: str, whole: bool) -> None:
        document = self.known[name]
        number = None if whole else document.highest
        if number == 0:
            return
        receipt = self.execute(Withdraw(identifier=parse(name), reason="enough", version=number))
        document.revision += receipt.outcome is not Outcome.UNCHANGED
        if number is None:
            document.withdrawn = True
        elif not document.withdrawn:
            document.gone.add(number)

    # what happens
    # ------------

    @rule()
    def restart(self) -> None:
        self.registry.close()
        self.open()

    @rule()
    def restart_after_a_crash(self) -> None:
        """Half a record and half an upload lie about, as a power cut would leave them."""
        self.registry.close()
        for segment in sorted((self.root / "segments").glob("*.warc"))[-1:]:
            with segment.open("ab") as file:
                file.write(b"WARC/1.1\r\nWARC-Type: resource\r\nContent-")
        (self.root / "segments" / "999999.warc").write_bytes(b"never committed")
        self.open()

    @rule()
    def seal(self) -> None:
        self.registry.seal()

    @rule(hours=st.integers(1, 40))
    def wait(self, hours: int) -> None:
        self.clock.moment += timedelta(hours=hours)

    # what must stay true
    # -------------------

    @invariant()
    def nothing_that_was_promised_has_changed(self) -> None:
        """ "The PDI namespace is monotonic; PDIs cannot be retracted. If a new version of the same
        document issues, it MUST increment the version number for the previously issued PDI. This
        requirement assures that any machine representation (byte sequence) associated with formats
        of a versioned PDI never changes" (section 2.1)."""
        resolver = self.registry.listings
        for name, document in self.known.items():
            record = resolver.find_record(parse(name))
            assert record is not None
            held = {
                (version.number, one.format): one
                for version in record.versions
                for one in version.representations
            }
            assert held.keys() == document.bytes.keys()
            for (number, form), data in document.bytes.items():
                assert held[number, form].sha512 == sha512(data)
                query = Query(identifier=parse(f"{name}.{form}.{number}"))
                step = self.registry.reading.resolve(query).step
                if document.withdrawn or number in document.gone:
                    assert isinstance(step, Gone)
                else:
                    assert isinstance(step, Fetch)
                    assert resolver.read_bytes(step.representation) == data

    @invariant()
    def versions_are_dense_and_the_history_is_complete(self) -> None:
        for name, document in self.known.items():
            history = self.registry.records.list_revisions(parse(name).key)
            assert [one.revision for one in history] == list(range(1, document.revision + 1))
            numbers = [version.number for version in history[-1].versions]
            assert numbers == list(range(1, len(numbers) + 1))

    @invariant()
    def the_listing_is_complete_and_serials_are_dense(self) -> None:
        listed = self.registry.listings.list_page(pdi.parse_pdi(f"pdi://{SERIES}/")).identifiers
        assert {str(one) for one in listed} == set(self.known)
        days: dict[str, list[int]] = {}
        for one in listed:
            assert isinstance(one, pdi.Pdi)
            if one.serial is not None:
                days.setdefault(str(one.date), []).append(one.serial)
        assert days == {day: list(range(1, last + 1)) for day, last in self.serials.items()}


Registrar.TestCase.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
TestRegistrar = Registrar.TestCase
