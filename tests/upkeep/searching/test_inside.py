"""Documents are found by what they say of themselves, if nobody has described them."""

from __future__ import annotations

import io

import pytest
from tests.conftest import TODAY, Desk, html, text
from tests.upkeep.searching.conftest import SearchDesk

from perdure.ids import parse
from perdure.model.about import About, DescriptionText
from perdure.model.commands import Content, Describe
from perdure.storage.spool import make_content


def png(title: str) -> Content:
    """A picture with a title, written by Pillow."""
    image = pytest.importorskip("PIL.Image")
    png_plugin = pytest.importorskip("PIL.PngImagePlugin")
    info = png_plugin.PngInfo()
    info.add_text("Title", title)
    info.add_text("Author", "Berenice Abbott")
    out = io.BytesIO()
    image.new("RGB", (2, 2)).save(out, "PNG", pnginfo=info)
    return make_content(out.getvalue(), format="png", media_type="image/png")


def test_a_picture_is_found_by_the_title_inside(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(png("Daily News Building"))
    (found,) = searched.find("building", places=("title",))
    assert (found.identifier, found.title) == (f"{TODAY}/1.png.1", "Daily News Building")
    assert searched.names("news", by="abbott") == ["1.png.1"]
    desk.withdraw(f"{TODAY}/1")
    assert searched.names("building", update=False) == []


def test_a_page_has_its_title(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(html("<title>The gazette</title><p>text"), text("other"))
    assert [one.title for one in searched.find("text")] == ["The gazette"]
    assert searched.names("gazette", places=("title",)) == ["1.html.1"]


def test_what_people_said_takes_its_place(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(html("<title>untitled page</title><p>text"))
    assert searched.names("untitled", places=("title",)) == ["1.html.1"]
    about = About(titles=(DescriptionText(value="The gazette"),))
    desk.registry.door.execute_command(Describe(identifier=parse(f"{TODAY}/1"), about=about))
    assert searched.names("untitled", places=("title",)) == []
    assert searched.names("gazette") == ["1.html.1"]


def test_a_damaged_document_has_no_title(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(make_content(b"\x89PNG damaged", format="png", media_type="image/png"))
    desk.mint(png("Daily News Building"))
    assert searched.names("building") == ["2.png.1"]
