"""Depositing in a browser: upload, review, mint.

    GET  /deposit              what is under way, and the form for files
    POST /deposit              takes files, and leads to the page that reviews them
    GET  /deposit/<draft>      types to correct, the description, the plan; later the receipts
    POST /deposit/<draft>      saves the form; mints; or discards the draft

How it works: a draft (`perdure.server.desk.drafts`) goes from page to page. Minting makes the same
commands as PUT does, with the draft as idempotency key, so a form that is sent twice mints once.

What must stay true: a right is checked before a file is read, and again when the draft is minted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl

from msgspec.structs import replace

from perdure.errors import NotFound, PerdureError
from perdure.errors.limits import DraftsTooLarge
from perdure.formats import MediaType
from perdure.model.commands import Command, Commit, Content, Mint, Receipt
from perdure.model.parameters import Parameters
from perdure.model.plain_words import read_pairs
from perdure.model.records import Token
from perdure.reading.targets import read_identifier
from perdure.server.common import auth
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.desk.comparing import compare_draft
from perdure.server.desk.drafts import Draft, Drafts, StagedFile
from perdure.server.desk.menu import lead_to, show_desk_page
from perdure.server.desk.signing_in import (
    DESK,
    check_origin,
    read_posted_form,
    require_depositor,
)
from perdure.server.desk.uploads import Fields, read_upload
from perdure.server.pages.trail import find_page_of
from perdure.server.resource.writing import read_declared_language, spell_type

DESCRIBED = ("title", "creator", "date", "publisher", "subject", "rights", "description")
"""Fields of the form about the document, in their order."""
_USUAL_TYPES = (
    *("application/json", "application/pdf", "application/xml", "application/zip", "audio/flac"),
    *("audio/mpeg", "image/jpeg", "image/png", "image/svg+xml", "image/tiff", "message/rfc822"),
    *("text/csv", "text/html", "text/markdown", "text/plain", "video/mp4"),
)
"""Types that the form suggests."""


async def show_desk(service: Service, request: Request) -> Answer:
    """Show the form for files, or take them."""
    token = await require_depositor(service, request)
    if isinstance(token, Answer):
        return token
    if request.method == "POST":
        return await _take_files(service, request, token)
    asked = Parameters(parse_qsl(request.target.question or ""))
    return show_desk_page(
        request,
        token,
        "desk.html",
        series=service.settings.series,
        of=(asked.get("of") or "")[:8192],
        drafts=await asyncio.to_thread(Drafts(service.registry.root).list_drafts, token.name),
    )


async def _take_files(service: Service, request: Request, token: Token) -> Answer:
    check_origin(request)
    expected: list[int | None] = [None]

    def check(fields: Fields) -> None:
        expected[0] = _check_target(service, token, fields.get("series", ""), fields.get("of", ""))

    drafts = Drafts(service.registry.root)
    id = await asyncio.to_thread(drafts.make_id, token.name)
    room = service.settings.draft_bytes - await asyncio.to_thread(drafts.measure_bytes, token.name)
    fields, files = await read_upload(service, request, check, room)
    of = fields.get("of", "").strip()
    draft = Draft(
        id=id,
        token=token.name,
        made=auth.current_time(service),
        series=fields.get("series", ""),
        of=of,
        expect=expected[0],
        together=bool(of) or fields.get("together", "yes") == "yes",
        files=files,
    )
    if not files:
        return lead_to(DESK)
    await asyncio.to_thread(drafts.save_draft, draft)
    if await asyncio.to_thread(drafts.measure_bytes, token.name) > service.settings.draft_bytes:
        await asyncio.to_thread(drafts.discard_draft, draft)  # other uploads ended meanwhile
        raise DraftsTooLarge(limit=service.settings.draft_bytes)
    return lead_to(f"{DESK}/{draft.id}")


def _check_target(service: Service, token: Token, series: str, of: str) -> int | None:
    """Check the right to mint in a series, or to commit a version, whose revision is returned."""
    if not of.strip():
        auth.check_minting(service, token, series)
        return None
    identifier = read_identifier(of.strip()).whole.resource
    record = service.find_record(identifier)
    if record is None:
        raise NotFound(identifier=str(identifier))
    auth.check_right(service, token, "commit", identifier)
    return record.revision


async def show_draft(service: Service, request: Request) -> Answer:
    """Review a draft, save what was corrected, mint it, or discard it."""
    token = await require_depositor(service, request)
    if isinstance(token, Answer):
        return token
    id = request.target.text.partition("/")[2]
    form = await read_posted_form(request) if request.method == "POST" else None
    draft = await asyncio.to_thread(Drafts(service.registry.root).load_draft, id, token.name)
    if form is None:
        return await _show(service, request, token, draft)
    if form.get("act") == "discard":
        await asyncio.to_thread(Drafts(service.registry.root).discard_draft, draft)
        return lead_to(DESK)
    if draft.receipts:
        return lead_to(f"{DESK}/{draft.id}")
    try:
        draft = _correct_draft(draft, form)
        await asyncio.to_thread(Drafts(service.registry.root).save_draft, draft)
        if form.get("act") == "mint":
            await _mint_draft(service, token, draft)
    except PerdureError as error:
        return await _show(service, request, token, draft, error, form)
    return lead_to(f"{DESK}/{draft.id}")


def _correct_draft(draft: Draft, form: Mapping[str, str]) -> Draft:
    """Apply the form of the page to a draft. Raises InvalidRequest."""
    files = tuple(_correct_file(file, at, form) for at, file in enumerate(draft.files))
    described = {name: form.get(name, "").strip() for name in DESCRIBED}
    return replace(
        draft, files=files, described={name: text for name, text in described.items() if text}
    )


def _correct_file(file: StagedFile, at: int, form: Mapping[str, str]) -> StagedFile:
    typed = form.get(f"type-{at}", "").strip() or file.content.media_type
    charset = form.get(f"charset-{at}", "").strip() or None
    language = read_declared_language(form.get(f"language-{at}", "").strip())
    kind = MediaType.parse(typed)
    kind = kind.with_charset(charset or kind.charset)
    format, media_type = spell_type(kind)
    stated = tuple(
        name
        for name, new, old in (
            ("media_type", media_type, file.detected),
            ("charset", kind.charset, file.content.charset),
            ("language", language, None),
        )
        if new != old or name in file.content.stated
    )
    content = replace(
        file.content,
        format=format,
        media_type=media_type,
        charset=kind.charset,
        language=language,
        stated=stated,
    )
    return replace(file, content=content)


async def _mint_draft(service: Service, token: Token, draft: Draft) -> None:
    """Carry out a draft, and keep the receipts with it."""
    _check_target(service, token, draft.series, draft.of)
    under = read_identifier(draft.of.strip()).assigned_under if draft.of else draft.series
    await auth.check_contents(service, token, under, (file.content for file in draft.files))
    receipts: list[Receipt] = []
    for command in _plan_commands(draft):
        receipt = await service.submit_command(command, token.name)
        service.metrics.count_write("commit" if draft.of else "mint", receipt.outcome)
        receipts.append(receipt)
    done = replace(draft, receipts=tuple(receipts), files=_forget_bytes(draft.files))
    await asyncio.to_thread(Drafts(service.registry.root).save_draft, done)


def _plan_commands(draft: Draft) -> list[Command]:
    about = read_pairs(draft.described) if draft.described else None
    if draft.of:
        return [
            Commit(
                by=draft.token,
                identifier=read_identifier(draft.of).whole.resource,
                contents=tuple(file.content for file in draft.files),
                expect=draft.expect,
                once=f"desk-{draft.id}",
            )
        ]
    groups: list[tuple[Content, ...]] = (
        [tuple(file.content for file in draft.files)]
        if draft.together
        else [(file.content,) for file in draft.files]
    )
    return [
        Mint(
            by=draft.token,
            authority=draft.series,
            contents=contents,
            about=about,
            once=f"desk-{draft.id}-{number}",
        )
        for number, contents in enumerate(groups)
    ]


def _forget_bytes(files: tuple[StagedFile, ...]) -> tuple[StagedFile, ...]:
    """Drop the bytes of minted files from their draft: the registry has them."""
    return tuple(
        replace(file, content=replace(file.content, data=None, spooled=None)) for file in files
    )


async def _show(
    service: Service,
    request: Request,
    token: Token,
    draft: Draft,
    error: PerdureError | None = None,
    typed: Mapping[str, str] | None = None,
) -> Answer:
    """Show a draft; after an error, with what was typed."""
    typed = typed or {}
    copies = await asyncio.to_thread(_list_copies, service, draft)
    change = await service.run_cutter(compare_draft, service, request, token, draft)
    return show_desk_page(
        request,
        token,
        "draft.html",
        status=HTTPStatus.CONFLICT if error else HTTPStatus.OK,
        draft=draft,
        typed=typed,
        fields=[(name, typed.get(name, draft.described.get(name, ""))) for name in DESCRIBED],
        plan=_describe_plan(draft),
        copies=copies,
        change=change,
        receipts=[(one, find_page_of(one.identifier)) for one in draft.receipts],
        error=str(error) if error else "",
        types=_USUAL_TYPES,
    )


def _describe_plan(draft: Draft) -> list[tuple[str, ...]]:
    """List the formats of each document that minting would make."""
    tokens = [file.content.format for file in draft.files]
    return [tuple(tokens)] if draft.together else [(one,) for one in tokens]


def _list_copies(service: Service, draft: Draft) -> dict[int, str]:
    """Return a name that the bytes of a file already have, by the number of the file."""
    found = {}
    for at, file in enumerate(() if draft.receipts else draft.files):
        names = service.listings.find_same_bytes(file.content.sha512)
        if names:
            found[at] = str(names[0])
    return found
