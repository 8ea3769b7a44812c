"""Errors about requests that contradict an earlier promise, or a change made meanwhile."""

from __future__ import annotations

from perdure.errors.rights import Conflict, PreconditionFailed
from perdure.errors.root import count_things, show_plainly

_SHOWN = 3
"""Places that a message lists."""

# names
# -----


class NameTaken(Conflict):
    """The requested name already exists."""

    reason = "it is already taken, and names are never reused"


class SerialsUsedUp(Conflict):
    """A series has no serial number left for the day."""

    reason = "no serial number is left"


class SerialsFenced(Conflict):
    """A rebuild could not read everything, so serial numbers of the day may be in use."""

    series: str
    until: str
    """The last day of which numbers may be in use."""

    @property
    def reason(self) -> str:
        return (
            "a rebuild could not read everything, so numbers of this day may be in use; mint again "
            f"after {self.until} (UTC), or stop the server and tell the highest number that was "
            f"given out: perdure rebuild --highest {self.series}=NUMBER"
        )


class SerialsHandedOver(Conflict):
    """The registry took over from another one, which may have given out numbers of the day."""

    series: str
    until: str
    """The last day of which numbers may be in use."""

    @property
    def reason(self) -> str:
        return (
            "this registry took over from another one, which may have given out numbers of this "
            f"day; mint again after {self.until} (UTC), or stop the server and tell the highest "
            f"number that was given out today: perdure promote --highest {self.series}=NUMBER"
        )


class DayClosed(Conflict):
    """No further names are given under a past day of a series."""

    at: str
    """When it was closed."""
    why: str

    @property
    def reason(self) -> str:
        why = f": {show_plainly(self.why)}" if self.why else ""
        return f"the day was closed at {self.at}{why}; names are given under other days"


class NameWithdrawn(Conflict):
    """The resource was withdrawn."""

    reason = "it was withdrawn"


class VersionWithdrawn(Conflict):
    """This version of the resource was withdrawn."""

    version: int

    @property
    def reason(self) -> str:
        return f"version {self.version} was withdrawn"


class TokenNameTaken(Conflict):
    """A token with this name already exists."""

    reason = "a token with this name already exists"


class ArchiveFileTaken(Conflict):
    """Another process has added an archive file with the same name meanwhile."""

    reason = "a file of this name was added in the meantime"


# bytes and the locations that promise them
# -----------------------------------------


class BytesContradicted(Conflict):
    """Bytes differ from those promised before. Abstract: each reason has a class."""

    sha512: str
    """The digest promised before, in hexadecimal digits."""

    @property
    def current(self) -> str | None:
        return f"sha512 {self.sha512}"


class BytesBound(BytesContradicted):
    """Other bytes are permanently bound to the name."""

    reason = "it is permanently bound to other bytes; commit new bytes as a new version"


class LocationPromisesOthers(BytesContradicted):
    """A new location promises other bytes than those already bound."""

    uri: str

    @property
    def reason(self) -> str:
        return f"the location {self.uri} promises other bytes than those already bound"


class LocationBoundOtherwise(BytesContradicted):
    """A location of the name is bound with another digest than that of the new bytes."""

    uri: str

    @property
    def reason(self) -> str:
        return f"the location {self.uri} is bound with another digest"


class BytesNotPromised(BytesContradicted):
    """The bytes given to break a location are not those that it promised."""

    reason = "the given bytes are not those that the location promised"


class OriginalNeeded(BytesContradicted):
    """A location cannot be broken, because its promised bytes would be lost."""

    reason = "the original bytes are not held here; send them, so that they are kept"


class ReadingContradicted(Conflict):
    """The same bytes are held with another media type, charset or language."""

    held: str
    stated: str

    @property
    def current(self) -> str | None:
        return self.held

    @property
    def reason(self) -> str:
        return (
            f"its bytes are held already, but not as {self.stated}; to correct the reading of "
            f"them, use 'perdure correct {self.identifier}' or POST …?correct"
        )


class FormatsLacking(Conflict):
    """A new version lacks formats of the last one, and the settings refuse that."""

    formats: tuple[str, ...]
    """The identifiers of the last version that would be left behind."""
    reason = "the new version lacks formats of the last one; commit all formats together"

    @property
    def current(self) -> str | None:
        return f"held are {', '.join(self.formats)}"


# withdrawals that two persons decide
# -----------------------------------


class ReasonNotRepeated(Conflict):
    """A second person confirms a withdrawal with another reason than the proposed one."""

    by: str
    at: str
    proposed: str
    """The reason of the proposal."""
    reason = (
        "its withdrawal is proposed for another reason: repeat that reason word for word to "
        "confirm it, or refuse the proposal"
    )

    @property
    def current(self) -> str | None:
        return f"proposed by {self.by} at {self.at}: {self.proposed}"


class ProposalContradicted(Conflict):
    """A second person confirms a withdrawal or erasure, but requests something else."""

    by: str
    at: str
    proposed: str
    """The way in which it is proposed, in words."""

    @property
    def reason(self) -> str:
        return (
            f"it is proposed in another way ({self.proposed}): request the same to confirm it, or "
            "refuse the proposal"
        )

    @property
    def current(self) -> str | None:
        return f"proposed by {self.by} at {self.at}"


class SecondPersonNeeded(Conflict):
    """One person would withdraw something, or break its last location, where two must agree."""

    version: int | None

    @property
    def reason(self) -> str:
        of = "it" if self.version is None else f"version {self.version}"
        return (
            f"{of} would no longer be available, and two persons must agree to that here: propose "
            "its withdrawal, or bind another location first"
        )


class CapturesNotErasable(Conflict):
    """None of the records of a capture can be overwritten to erase it."""

    places: tuple[str, ...]
    """The records, each with the reason why it cannot be overwritten."""

    @property
    def reason(self) -> str:
        more = f"; and {len(self.places) - _SHOWN} more" if len(self.places) > _SHOWN else ""
        return (
            f"none of its records can be overwritten: {'; '.join(self.places[:_SHOWN])}{more}. "
            "'perdure withdraw' stops serving them"
        )


class NoCapturesToErase(Conflict):
    """No archive file of this registry has the capture to erase."""

    reason = (
        "no archive file of this registry has such a capture; 'perdure withdraw' also keeps it "
        "from being served from files that are added later"
    )


class ErasureTooLarge(Conflict):
    """A PWID names more records than one erasure overwrites."""

    most: int

    @property
    def reason(self) -> str:
        return (
            f"it names more than {count_things(self.most, 'record')}; erase PWIDs that name fewer"
        )


class NothingProposed(Conflict):
    """No withdrawal is proposed that could be refused."""

    version: int | None

    @property
    def reason(self) -> str:
        of = "it" if self.version is None else f"version {self.version}"
        return f"no withdrawal of {of} is proposed"


class NothingWithheld(Conflict):
    """No takedown of these captures is in force that could be lifted."""

    match: str
    reason = (
        "no takedown with this URL, match and times is in force; 'perdure archive withheld' lists "
        "all; what was withdrawn by its PWID stays withdrawn"
    )


# handles
# -------


class HandleNotMutable(Conflict):
    """Identifiers with the prefix of this handle are never deleted."""

    reason = "identifiers with its prefix are never deleted; withdraw it instead"


class HandleHasBytes(Conflict):
    """A handle cannot be deleted, because bytes are bound to it."""

    reason = "bytes are permanently bound to it"


class IndexTaken(Conflict):
    """The index of a handle value already has another value."""

    index: int
    value_type: str
    """The type of the value that the index has."""

    @property
    def reason(self) -> str:
        return f"the index {self.index} already has another value"

    @property
    def current(self) -> str | None:
        return self.value_type


# changes and runs
# ----------------


class ChangeUnknown(Conflict):
    """A registry has no change with this number."""

    last: str | None
    """The number of its last change; None if it has no changes."""

    @property
    def reason(self) -> str:
        if self.last is None:
            return "it is not known: there are no changes yet"
        return f"it is not known: the last change here is {self.last}"


class CollectionNotNewest(Conflict):
    """Members cannot be added to a version of a collection that is not the newest one."""

    newest: str
    reason = "members can be added to the newest version only"

    @property
    def current(self) -> str | None:
        return self.newest


class RunLogInTheWay(Conflict):
    """The file for the state of a run has other content. Abstract: each reason has a class."""

    file: str
    current = "remove the file, or name another one"


class RunLogForeign(RunLogInTheWay):
    """The file for the state of a run is not the state of a run."""

    @property
    def reason(self) -> str:
        return f"{self.file} is in the way: it is not the state of a run"


class RunLogOfOther(RunLogInTheWay):
    """The file for the state of a run belongs to another run."""

    run: str
    collection: str
    begun: str

    @property
    def reason(self) -> str:
        other = f"{self.run} of {self.collection} begun {self.begun}"
        return f"{self.file} is in the way: it belongs to another run: {other}"


# records that are joined
# -----------------------

_SAY_HOW = "use --merge or --replace to change it"


class RecordsContradict(Conflict):
    """A record to be joined contradicts the stored one. Abstract: each reason has a class."""

    current: str | None


class LocationContradicted(RecordsContradict):
    """This registry has a different fact about a location."""

    uri: str
    fact: str
    """The name of the fact, such as `language`."""

    @property
    def reason(self) -> str:
        return f"{self.fact} of the location {self.uri} is different here; {_SAY_HOW}"


class PairContradicted(RecordsContradict):
    """A plain metadata pair has another value here."""

    pair: str
    """The name of the pair."""

    @property
    def reason(self) -> str:
        return f"the metadata {self.pair!r} is different here; {_SAY_HOW}"


class DescriptionContradicted(RecordsContradict):
    """The resource has another description here."""

    reason = f"it has another description here; {_SAY_HOW}"


class AttachmentContradicted(RecordsContradict):
    """This registry has a different attached metadata record of this format."""

    format: str

    @property
    def reason(self) -> str:
        return f"the attached {self.format} record is different here; {_SAY_HOW}"


class WithdrawalContradicted(RecordsContradict):
    """The resource was withdrawn for another reason."""

    reason = "it was withdrawn for another reason, which stays"


class LanguageContradicted(RecordsContradict):
    """The bytes were committed with another language."""

    reason = "its language was stated otherwise when it was committed"


# preconditions
# -------------


class RevisionNotCurrent(PreconditionFailed):
    """The record does not have the expected revision."""

    expected: int
    revision: int | None
    """The revision that it has; None if it is unknown."""

    @property
    def reason(self) -> str:
        return f"revision {self.expected} was expected"

    @property
    def current(self) -> str | None:
        return "unknown" if self.revision is None else f"revision {self.revision}"


class StateContradicted(PreconditionFailed):
    """A condition names another state. Abstract: each reason has a class."""

    state: int | str
    """The revision of the record, or the entity tag of the bytes with its quotation marks."""

    @property
    def current(self) -> str:
        kind = "revision" if isinstance(self.state, int) else "entity tag"
        return f"{kind} {self.state}"


class StateNotNamed(StateContradicted):
    """`If-Match` names another state."""

    reason = "If-Match names another state"


class AlreadyExists(StateContradicted):
    """`If-None-Match` expects that it does not exist, or not in this state."""

    reason = "it exists"


class ModifiedSince(StateContradicted):
    """It was modified after the time in `If-Unmodified-Since`."""

    reason = "it has been modified since"


class NewNameHasNoState(PreconditionFailed):
    """`If-Match` expects a state of a name that is only being minted."""

    reason = "If-Match expects a state, but a new name has none yet"
