"""The routes of the pages for depositors."""

from __future__ import annotations

from perdure import errors
from perdure.server.desk import depositing, overseeing, signing_in
from perdure.server.routes.model import (
    JSON,
    TEXT,
    WORD,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
    Security,
)

_GET = ("GET", "HEAD")
_FORM = "application/x-www-form-urlencoded"
_FIELDS = {"type": "object", "additionalProperties": TEXT}
_PAGE = AnswerShape(status=200, text="A page.", content={"text/html": None})
_FURTHER = AnswerShape(status=303, text="The next page.", fields=("Location",))
_SESSION = (Security.SESSION,)
_POSTED = (
    errors.Unauthenticated,
    errors.InvalidRequest,
    errors.Forbidden,
    errors.TooLarge,
    errors.Incomplete,
)
_DRAFT = Parameter(
    name="draft",
    place="path",
    text="a deposit under way",
    schema=WORD,
    required=True,
    listed=False,
)

DESK = (
    Route(
        methods=_GET,
        pattern="/sign-in",
        handler=signing_in.sign_in,
        operation="showSignIn",
        text="the form with which depositors sign in with a token; see "
        "[depositing in a browser](../how-to/deposit-in-a-browser.md)",
        section="pages",
        parameters=(Parameter(name="to", text="the page that follows"),),
        answers=(_PAGE,),
    ),
    Route(
        methods=("POST",),
        pattern="/sign-in",
        handler=signing_in.sign_in,
        operation="signIn",
        text="begins a session",
        section="pages",
        body=BodyShape(text="`token`, and the page that follows, `to`.", content={_FORM: _FIELDS}),
        answers=(
            AnswerShape(status=303, text="The next page.", fields=("Location", "Set-Cookie")),
        ),
        problems=_POSTED,
    ),
    Route(
        methods=("POST",),
        pattern="/sign-out",
        handler=signing_in.sign_out,
        operation="signOut",
        text="ends the session",
        section="pages",
        body=BodyShape(text="An empty form.", content={_FORM: _FIELDS}, required=False),
        answers=(AnswerShape(status=303, text="The form.", fields=("Location", "Set-Cookie")),),
        problems=_POSTED,
    ),
    Route(
        methods=_GET,
        pattern="/deposit",
        handler=depositing.show_desk,
        operation="showDesk",
        text="the form for files, and the deposits that are under way",
        section="pages",
        parameters=(Parameter(name="of", text="the document of which a next version follows"),),
        answers=(_PAGE, _FURTHER),
        security=_SESSION,
    ),
    Route(
        methods=("POST",),
        pattern="/deposit",
        handler=depositing.show_desk,
        operation="uploadFiles",
        text="takes files, and leads to the page that reviews them",
        section="pages",
        body=BodyShape(
            text="`series` or `of`, `together`, and then the files.",
            content={"multipart/form-data": {"type": "object"}},
        ),
        answers=(_FURTHER,),
        problems=(*_POSTED, errors.NotFound, errors.StorageFailed),
        security=_SESSION,
        is_open=False,
    ),
    Route(
        methods=_GET,
        pattern="/deposit/{draft}",
        handler=depositing.show_draft,
        operation="reviewDraft",
        text="the types, the description and the plan of a deposit, or its receipts",
        shown="/deposit/<draft>",
        section="pages",
        parameters=(_DRAFT,),
        answers=(_PAGE, _FURTHER),
        problems=(errors.NotFound,),
        security=_SESSION,
    ),
    Route(
        methods=("POST",),
        pattern="/deposit/{draft}",
        handler=depositing.show_draft,
        operation="mintDraft",
        text="saves the form of a deposit, mints it, or discards it, as `act` says",
        shown="/deposit/<draft>",
        section="pages",
        parameters=(_DRAFT,),
        body=BodyShape(text="The fields of the form.", content={_FORM: _FIELDS}),
        answers=(_FURTHER,),
        problems=(*_POSTED, errors.NotFound, errors.Conflict),
        security=_SESSION,
        is_open=False,
    ),
    Route(
        methods=_GET,
        pattern="/operator",
        handler=overseeing.show_figures,
        operation="showFigures",
        text="what was minted, storage, verification, backup, lost locations and requests: plots "
        "for people who signed in, JSON for programs; with the right `administer` for everything",
        section="pages",
        answers=(
            AnswerShape(
                status=200,
                text="The figures.",
                content={"text/html": None, JSON: {"type": "object"}},
            ),
            _FURTHER,
        ),
        problems=(errors.Unauthenticated, errors.Forbidden, errors.StorageFailed),
        security=(Security.SESSION, Security.BEARER, Security.SIGNATURE),
        is_open=False,
        only_reads=True,
    ),
)
