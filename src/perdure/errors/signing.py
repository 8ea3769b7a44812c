"""Errors about signatures of documents: statements, keys and signatures that are refused."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import FaultQuoted, quote

PAGE = "docs/reference/signatures.md"


class StatementMalformed(InvalidRequest):
    """The text is not the statement of a signature, in its one exact form."""

    line: int
    """The first wrong line, counted from 1."""
    expected: str
    what = "the statement"
    rule = PAGE

    @property
    def reason(self) -> str:
        return f"line {self.line} is not {self.expected}"


class SignatureMalformed(InvalidRequest):
    """The bytes are not a signature of the form that they begin as."""

    form: str
    expected: str
    rule = PAGE

    @property
    def what(self) -> str:
        return f"the {self.form} signature"

    @property
    def reason(self) -> str:
        return f"it does not contain {self.expected}"


class BundleMalformed(InvalidRequest):
    """The file is not a bundle of signatures that perdure exported."""

    file: str
    expected: str
    rule = PAGE

    @property
    def what(self) -> str:
        return f"the bundle {quote(self.file)}"

    @property
    def reason(self) -> str:
        return f"it does not contain {self.expected}"


class KeyMalformed(InvalidRequest):
    """The bytes are not a key of the form that they begin as."""

    form: str
    expected: str
    rule = PAGE

    @property
    def what(self) -> str:
        return f"the {self.form} key"

    @property
    def reason(self) -> str:
        return f"it does not contain {self.expected}"


class KeyLocked(InvalidRequest):
    """A private key is encrypted, and the passphrase is missing or wrong."""

    form: str
    reason = "it is encrypted, and the passphrase is missing or wrong"

    @property
    def what(self) -> str:
        return f"the {self.form} key"

    def repair(self) -> str:
        return (
            "give its passphrase; or write the statement to a file, sign it with the program that "
            "made the key, and attach the signature: see docs/reference/signatures.md"
        )


class SignatureRejected(InvalidRequest):
    """A signature is well-formed, but proves nothing about the statement. Abstract: each reason has
    a class."""

    what = "the signature"
    rule = PAGE


class SignatureWrong(SignatureRejected):
    """The key did not make this signature of this text."""

    signer: str
    """The fingerprint of the key."""

    @property
    def reason(self) -> str:
        return f"key {quote(self.signer)} did not make it of this statement"


class SignatureForOtherUse(SignatureRejected):
    """The signature was made for another use than perdure's statements."""

    found: str
    needed: str

    @property
    def reason(self) -> str:
        return f"it was made for the use {quote(self.found)}, not for {quote(self.needed)}"


class SignerDiffers(SignatureRejected):
    """The statement names another key than the one that made the signature."""

    stated: str
    found: str

    @property
    def reason(self) -> str:
        return (
            f"the statement names the key {quote(self.stated)}, but {quote(self.found)} made the "
            "signature"
        )


class KeyUnknown(SignatureRejected):
    """No list of allowed signers has the key that the statement names, so perdure cannot verify the
    signature."""

    signer: str

    @property
    def reason(self) -> str:
        return f"no list of allowed signers has the key {quote(self.signer)}"


class SignatureNotAccepted(SignatureRejected):
    """A signature that does not count is not attached; `verdict` is one of the verdicts."""

    verdict: str
    fault: str

    @property
    def reason(self) -> str:
        return f"{self.verdict}: {self.fault}"


class TimeStampMalformed(InvalidRequest):
    """The time stamps of a signature, or the certificates of authorities, cannot be read."""

    expected: str
    what = "the time stamp"
    rule = PAGE

    @property
    def reason(self) -> str:
        return f"it does not contain {self.expected}"


class TimeStampRejected(FaultQuoted, SignatureRejected):
    """A time stamp was made of another text, or by an authority that is not trusted here."""

    what = "the time stamp"


class TimeAuthoritiesMissing(SignatureRejected):
    """No root certificate of a time-stamping authority is trusted here."""

    what = "the time stamp"
    reason = "no root certificate of a time-stamping authority is trusted here"

    def repair(self) -> str:
        return "name a document with certificates in the setting time_authorities"


class SignatureMoved(SignatureRejected):
    """A signature is about another name than the one to which it is attached."""

    about: str
    named: str

    @property
    def reason(self) -> str:
        return f"moved: it is about {quote(self.about)}, not about {quote(self.named)}"


class NothingToSign(InvalidRequest):
    """A name has no bytes here, so no statement can be made about it."""

    identifier: str
    reason = "no bytes of it are held here"
    rule = PAGE

    @property
    def what(self) -> str:
        return f"a statement about {quote(self.identifier)}"


class PartNotSignable(NothingToSign):
    """Names of this scheme cannot hold a part, so a statement cannot name it."""

    reason = "identifiers of its scheme cannot name a part"


class SignersMalformed(InvalidRequest):
    """A line of a list of allowed signers is not in the form of OpenSSH."""

    line: int
    expected: str
    what = "the list of allowed signers"
    rule = "ssh-keygen(1), ALLOWED SIGNERS; docs/reference/signatures.md"

    @property
    def reason(self) -> str:
        return f"line {self.line} does not have {self.expected}"
