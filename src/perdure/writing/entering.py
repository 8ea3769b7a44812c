"""New names of a registry: mints, registrations, and names with the values of a handle.

How it works: `Entering` plans one command, in the batch of the registrar. A number is used up only
if nothing can fail any more. `perdure.writing.numbering` mints whole runs of names that need only
numbers.

What must stay true: no name is given twice, also under another spelling; the counter of a series
never falls behind a name of it. A share or a quota is checked before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.errors.conflicts import NameTaken
from perdure.ids import Identifier, pdi
from perdure.ids.pdi import Pdi
from perdure.model.about import About
from perdure.model.commands import Assign, Mint, Outcome, Receipt, Register, list_contents
from perdure.model.description_checks import check_description
from perdure.model.records import Record
from perdure.policy import binding, naming, rules
from perdure.policy.equality import find_same_record, spell_alike
from perdure.policy.handles import changes
from perdure.settings import Settings
from perdure.writing.ledger import Ledger
from perdure.writing.new_names import choose_name
from perdure.writing.placing import place_contents
from perdure.writing.shares import Shares


class Entering:
    """Enters new names into one registry, for its registrar."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        shares: Shares,
        learn: Callable[[], Settings] | None,
    ) -> None:
        """`learn` returns the settings with the authorities that were added meanwhile."""
        self.settings = settings
        self.day = ""
        """The day of the batch, as it is written in a PDI."""
        self._ledger = ledger
        self._shares = shares
        self._learn = learn

    def mint_name(self, command: Mint) -> Receipt:
        """Mint the next number of a day, or the name that the command asks for."""
        if command.authority not in self.settings.series:
            self._learn_authority(command.authority)
        day = self._choose_day(command)
        if command.authority in self.settings.series and command.uid is None:
            return self._mint_serial(command, day)
        identifier = choose_name(command, self.settings, self._ledger, day)
        taken = find_same_record(self._ledger, identifier)
        if taken is not None:
            raise NameTaken(identifier=str(taken.identifier.resource))
        return self._create_record(identifier, command, format=command.format)

    def _learn_authority(self, name: str) -> None:
        """Look for an authority that was added while this process runs."""
        if self._learn is not None and self.settings.find_authority(name) is None:
            self.settings = self._learn()

    def _choose_day(self, command: Mint) -> str:
        """The day under which a name is minted: today, or the past one that the command states.

        Raises InvalidRequest if it is not past, or if the scheme has no days; Conflict if unknown
        names may have numbers of it.  # ruling: pdi-retrospective
        """
        if not command.day:
            return self.day
        rules.check_series(command.authority, self.settings.series)
        day = rules.check_past_day(command.authority, command.day, self.day)
        self._ledger.require_open_day(command.authority, day)
        self._ledger.find_floor(command.authority, day)
        return day

    def _mint_serial(self, command: Mint, day: str) -> Receipt:
        """Mint the next number of a day, used up only when nothing can fail any more."""
        rules.check_series(command.authority, self.settings.series)
        serials = self._ledger.find_serials(command.authority, day)
        ((stem,), _) = serials.list_following()
        format = command.contents[0].format if command.contents else command.format
        name = pdi.parse_pdi(stem + naming.spell_first_ending(format))
        receipt = self._create_record(name, command, format=format)
        serials.use_numbers()
        return receipt

    def register_name(self, command: Register) -> Receipt:
        """Register a name that was given elsewhere, or add to the record that it has."""
        identifier = self.read_name(command.identifier)
        record = self._ledger.find_record(identifier.key)
        if record is not None:
            rules.check_revision(identifier, record, command.expect)
            return self._add_to_record(identifier, record, command)
        self._check_turn(identifier)
        self._ledger.recount_serials()
        _, format = naming.read_qualifiers(identifier)
        return self._create_record(identifier, command, format=format or "")

    def _create_record(
        self, identifier: Identifier, command: Mint | Register, *, format: str
    ) -> Receipt:
        self._shares.check_share(command.bearer)
        self._ledger.check_quota(identifier, self.day)
        version = naming.read_qualifiers(identifier)[0] or 1
        record = Record(
            name=naming.spell_name(identifier),
            at=self._ledger.now,
            by=command.by,
            minted=format if version == 1 and not command.contents else "",
            metadata=command.metadata,
            targets=tuple(map(str, command.targets)) if isinstance(command, Mint) else (),
            about=_read_description(command) if isinstance(command, Mint) else None,
            delegates=isinstance(command, Mint) and command.delegates,
        )
        if command.locations:
            record, _ = binding.bind_locations(identifier, record, command.locations)
        if command.contents:
            is_new = isinstance(command, Mint)
            check = rules.check_new_contents if is_new else rules.check_contents
            contents = check(identifier, command.contents)
            plan = rules.plan_version(identifier, record, contents, version)
            later = _plan_later(identifier, record, command) if isinstance(command, Mint) else ()
            self._ledger.check_spooled(list_contents(command))
            for one in (plan, *later):
                record = place_contents(self._ledger, identifier, record, one)
            format = plan.fresh[0].format
        self._ledger.add_record(identifier.key, record, _name_act(command))
        if record.delegates:
            self._ledger.note_revised()  # caches know where names lead
        self._shares.note_names(command.bearer)
        self._ledger.note_name(identifier, self.day)
        name = identifier
        if format and naming.read_qualifiers(identifier) != (version, format):
            name = naming.qualify_identifier(identifier, version, format)
        return Receipt(outcome=Outcome.CREATED, identifier=str(name), revision=1)

    def _add_to_record(self, identifier: Identifier, record: Record, command: Register) -> Receipt:
        """Add the data of a registration to an identifier that is already known."""
        changed, outcome = record, Outcome.UNCHANGED
        if command.locations:
            changed, outcome = binding.bind_locations(identifier, record, command.locations)
        if command.contents:
            # This may leave a gap, since the version comes from elsewhere.
            number = naming.read_qualifiers(identifier)[0] or 1
            contents = rules.check_contents(identifier, command.contents)
            plan = rules.plan_version(identifier, changed, contents, number)
            if plan.fresh:
                changed = place_contents(self._ledger, identifier, changed, plan)
                outcome = Outcome.CREATED
        return self._ledger.revise_record(
            identifier, record, changed, outcome, ("register", command.by)
        )

    def enter_values(self, identifier: Identifier, command: Assign) -> Receipt:
        """Register a name with the values of a handle. Raises NotFound if it should be known."""
        rules.check_unknown(identifier, command.expect)
        self._check_turn(identifier)
        self._shares.check_share(command.bearer)
        self._ledger.check_quota(identifier, self.day)
        empty = Record(name=naming.spell_name(identifier), at=self._ledger.now, by=command.by)
        record, _ = changes.assign_values(
            identifier, empty, command.values or (), self._ledger.now, command.by
        )
        self._ledger.recount_serials()
        self._ledger.add_record(identifier.key, record, "assign")
        self._shares.note_names(command.bearer)
        self._ledger.note_name(identifier, self.day)
        return Receipt(outcome=Outcome.CREATED, identifier=str(identifier), revision=1)

    def enter_name(self, identifier: Identifier, by: str) -> Record:
        """Register a name without anything else."""
        self._create_record(identifier, Register(identifier=identifier, by=by), format="")
        return rules.require_known(identifier, self._ledger.find_record(identifier.key))

    def read_name(self, identifier: Identifier) -> Identifier:
        """The name that a command concerns: if it is equal to a known one, under that spelling.

        Raises InvalidRequest if it does not name one whole resource.
        """
        naming.check_bindable(identifier)
        if identifier.equal_key is None:
            return identifier
        known = find_same_record(self._ledger, identifier)
        return identifier if known is None else spell_alike(identifier, known.identifier)

    def _check_turn(self, identifier: Identifier) -> None:
        """Raise InvalidRequest if the counter of a series has yet to reach a new name."""
        if not isinstance(identifier, Pdi):
            return
        if identifier.series not in self.settings.series:
            self._learn_authority(identifier.series)
        if identifier.series in self.settings.series:
            rules.check_day(identifier, self.day)
            if identifier.date == self.day:
                last = self._ledger.find_serials(identifier.series, self.day).last_number
                rules.check_serial(identifier, self.day, last)
            elif identifier.date is not None and identifier.serial is not None:
                self._ledger.find_floor(identifier.series, identifier.date)  # raises if closed


def _read_description(command: Mint) -> About | None:
    """The description that a mint brings. Raises InvalidMetadata or TooLarge."""
    return None if command.about is None else check_description(command.about)


def _plan_later(
    identifier: Identifier, record: Record, command: Mint
) -> tuple[rules.CommitPlan, ...]:
    """Plan the versions of a mint that follow the first, before any byte has a place.

    Raises InvalidRequest or MalformedIdentifier.
    """
    return tuple(
        rules.plan_version(
            identifier, record, rules.check_new_contents(identifier, contents), number
        )
        for number, contents in enumerate(command.later, 2)
    )


def _name_act(command: Mint | Register) -> str:
    """The act of the change: a name under a past day has its own.  # ruling: pdi-retrospective"""
    if isinstance(command, Register):
        return "register"
    if command.delegates:
        return "delegate"
    return "retrospect" if command.day else "mint"
