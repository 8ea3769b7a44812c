"""Settings: read from one table and the environment, checked at once, written so that they last."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import settings as setting
from perdure.errors import BadSettings
from perdure.errors.configuring import MintingSettingUnknown, SettingsCut
from perdure.ids import load_schemes, parse
from perdure.registry import Registry, initialise
from perdure.settings import (
    RenamedSetting,
    RetiredSetting,
    Settings,
    SettingsFile,
    load_settings,
    read_table,
    write_toml,
)
from perdure.settings.values import _minting_schemes


def test_the_table_and_over_it_the_environment(tmp_path: Path) -> None:
    (tmp_path / "perdure.toml").write_text(
        '[perdure]\nseries = ["oma.eop.gov.us"]\nport = 80\nworkers = 2\n'
    )
    read = load_settings(
        tmp_path, {"PERDURE_PORT": "8000", "PERDURE_SHOULDERS": "99999/fk4, 12345/x", "X": ""}
    )
    assert read.series == ("oma.eop.gov.us",)
    assert (read.port, read.workers) == (8000, 2)
    assert read.shoulders == ("99999/fk4", "12345/x")
    assert read.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "written", "canonical"),
    [
        ("series", "OMA.EOP.gov.US", "oma.eop.gov.us"),
        ("naming_authorities", "iana:42117", "IANA:42117"),
        ("naming_authorities", "isbn_publisher_id:0_201", "ISBN_Publisher_ID:0_201"),
        ("shoulders", "99999/fk-4", "99999/fk4"),
        ("shoulders", "B5072/FK2", "b5072/FK2"),
    ],
)
def test_authorities_are_kept_in_canonical_form(name: str, written: str, canonical: str) -> None:
    """So that everybody may look for them as they stand in an identifier."""
    assert getattr(read_table({name: [written, canonical]}, {}), name) == (canonical,)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"sereis": []}, "no setting has this name"),
        ({"port": "80"}, "a number is needed"),
        ({"port": True}, "a number is needed"),
        ({"closed_archives": 451}, "a text in quotation marks is needed"),
        ({"port": 65536}, "from 0 to 65535"),
        ({"workers": -1}, "from 0"),
        ({"page_size": 0}, "from 1"),
        ({"segment_bytes": 0}, "from 1"),
        ({"largest_upload": -1}, "from 0"),
        ({"fresh_seconds": -1}, "from 0"),
        ({"series": "a.us"}, "a list of texts is needed"),
        ({"series": [1]}, "a list of texts is needed"),
        ({"series": ["us"]}, "malformed"),
        ({"series": ["a.us/1997"]}, "no date"),
        ({"series": ["a.us#x"]}, "malformed"),
        ({"series": ["a.us\r\nb.us"]}, "malformed"),
        ({"naming_authorities": ["IANA:forty"]}, "malformed"),
        ({"naming_authorities": ["NOBODY:1"]}, "malformed"),
        ({"shoulders": ["99999"]}, "malformed"),
        ({"authorities": ["99999/fk4"]}, "no scheme in which names are minted"),
        ({"authorities": ["doi:10.1000"]}, "no scheme in which names are minted"),
        ({"authorities": ["ark:99999/fk4"]}, "ARK shoulder belongs in the setting shoulders"),
        ({"shoulders": ["99999/fk4/"]}, "beginning of a name"),
        ({"shoulders": ["99999/fk 4"]}, "malformed"),
        ({"base_url": "ftp://a.example"}, "http"),
        ({"base_url": "https://a.example/"}, "final slash"),
        ({"log_level": "loud"}, "one of debug, info, warning, error"),
        ({"basic_authentication": "http"}, "one of https, always, never"),
        ({"private_locations": ""}, "one of accept, refuse"),
        ({"unknown_archives": "guess"}, "one of refuse, standard-form"),
        ({"closed_archives": "403"}, "one of 451, 404, local"),
        ({"capture": "yes"}, "one of off, on"),
        ({"capture": "on"}, "set archive_id, too"),
        ({"withdrawal_persons": 3}, "from 1 to 2"),
        ({"check_links_hours": -1}, "from 0 to 100000"),
        ({"captures_in_sqlite": -1}, "from 0 to 100000000"),
        ({"archive_id": "A.example"}, "a domain in lower case"),
        ({"archive_aliases": ["a b"]}, "malformed"),
        ({"region_header": "X Region"}, "the name of a header field"),
        ({"capture_index": "file:///etc"}, "use an http.s. URL"),
        ({"content_origin": "https://replay.example/"}, "host"),
        ({"content_origin": "https://a.example", "base_url": "https://a.example/r"}, "other than"),
        ({"handle_prefixes": [""]}, "malformed"),
        ({"mutable_prefixes": [""]}, "malformed"),
        ({"handle_admins": ["x:21.T14999/ADMIN"]}, "an index, ':' and a handle"),
        ({"private_networks": ["10.1.0.1/16"]}, "has host bits set"),
        ({"templates": ["{"]}, "it must begin with an identifier"),
    ],
)
def test_what_cannot_work_is_said_at_the_start(table: dict[str, object], reason: str) -> None:
    with pytest.raises(BadSettings, match=reason) as refused:
        read_table(table, {})
    assert refused.value.setting == next(iter(table))


@pytest.mark.parametrize(("name", "value"), [("sereis", []), ("port", [80]), ("host", [1, 2])])
def test_a_list_is_shown_as_the_file_spells_it(name: str, value: list[int]) -> None:
    with pytest.raises(BadSettings) as refused:
        read_table({name: value}, {})
    assert str(refused.value).startswith(f"setting {name} = '{value}': ")


@pytest.mark.parametrize("setting", ["nowhere", "host"])
def test_a_scheme_of_a_plug_in_names_a_setting_that_lists_no_authorities(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemes = load_schemes()
    ark = schemes["ark"]
    assert ark.minting is not None
    minting = msgspec.structs.replace(ark.minting, setting=setting)
    theirs = msgspec.structs.replace(ark, name="theirs", minting=minting)
    monkeypatch.setattr(
        "perdure.settings.values.load_schemes", lambda: {**schemes, "theirs": theirs}
    )
    _minting_schemes.cache_clear()
    with pytest.raises(MintingSettingUnknown, match="'theirs' must name one of series, ") as said:
        _ = Settings().owned_authorities
    _minting_schemes.cache_clear()
    assert (said.value.value, said.value.scheme) == (setting, "theirs")


def test_a_file_that_init_wrote_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    """Else a registry would come up with the defaults, and without its series."""
    initialise(tmp_path, series=("oma.eop.gov.us",), shoulders=("99999/fk4",))
    path = tmp_path / "perdure.toml"
    whole = path.read_text("utf-8")
    for end in range(len(whole.rstrip())):
        path.write_text(whole[:end], "utf-8")
        with pytest.raises(BadSettings):
            load_settings(tmp_path, {})
    path.write_text(f"{whole}port = 80\n", "utf-8")
    assert load_settings(tmp_path, {}).port == 80


@pytest.mark.parametrize("text", ["", "\n", "[perdure]", "[perdure]\n# our settings\n"])
def test_a_file_without_any_setting_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "perdure.toml").write_text(text, "utf-8")
    with pytest.raises(SettingsCut, match="lost its end, or has no settings; restore it"):
        load_settings(tmp_path, {})


def test_a_file_of_an_earlier_release_has_no_last_line(tmp_path: Path) -> None:
    (tmp_path / "perdure.toml").write_text("# Settings\n[perdure]\n# port = 80\n", "utf-8")
    assert load_settings(tmp_path, {}) == Settings()


def test_a_setting_that_was_retired_is_passed_over_with_a_warning() -> None:
    with pytest.warns(RetiredSetting, match="http_parser no longer has any effect"):
        assert read_table({"http_parser": "h11", "port": 80}, {}) == Settings(port=80)


@pytest.mark.parametrize("text", ["", "ten", "1.5"])
def test_a_number_in_the_environment(text: str) -> None:
    with pytest.raises(BadSettings, match="a number is needed"):
        read_table({}, {"PERDURE_PORT": text})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[perdure\n", "Expected"),
        ("perdure = 3", "a table is needed"),
        ("port = 80\n[perdure]\nhost = '::1'", r"below \[perdure\]"),
        ("[perdure]\n[Perdure]\nport = 80", r"below \[perdure\]"),
        (b"[perdure]\nhost = '\xff'", "utf-8"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: str | bytes, reason: str) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "perdure.toml").write_bytes(data)
    with pytest.raises(BadSettings, match=reason):
        load_settings(tmp_path, {})


def test_a_directory_that_is_no_registry(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="create one with 'perdure init'"):
        Registry(tmp_path, environment={})
    with pytest.raises(BadSettings):
        Registry(tmp_path / "nowhere", environment={})


def test_authorities_are_added_and_none_is_lost(tmp_path: Path) -> None:
    initialise(tmp_path, series=("a.us",))
    initialise(tmp_path, series=("b.us", "A.us"), shoulders=("99999/fk4",))
    read = load_settings(tmp_path, {})
    assert (read.series, read.shoulders) == (("a.us", "b.us"), ("99999/fk4",))
    with pytest.raises(BadSettings):
        initialise(tmp_path, series=("us",))
    assert load_settings(tmp_path, {}) == read


def test_every_setting_says_what_it_is_for() -> None:
    assert all(one.metadata["help"] for one in fields(Settings))


def test_every_setting_has_a_rule_or_is_any_text() -> None:
    free = {one.name for one in fields(Settings) if not one.metadata["rules"]}
    assert free == {
        "host",
        "archives_file",
        "store",  # a store is looked for when it is opened
        "bytes",
    }


def test_the_defaults_follow_their_own_rules() -> None:
    for one in fields(Settings):
        for rule in one.metadata["rules"]:
            assert rule(one.name, one.default) == one.default


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(texts, st.lists(st.sampled_from(["a.us", "b.gov.us"]), unique=True), st.integers(0, 65535))
def test_what_is_written_is_read_back(host: str, series: list[str], port: int) -> None:
    chosen = Settings(host=host, series=tuple(series), port=port)
    table = tomllib.loads(write_toml(chosen))["perdure"]
    assert read_table(table, {}) == chosen
    assert setting.add_authorities(chosen, series=()) == chosen


def test_authorities_that_are_added_are_learned_and_nothing_else(tmp_path: Path) -> None:
    initialise(tmp_path, series=("oma.eop.gov.us",))
    file = SettingsFile(tmp_path, {})
    opened = file.current
    assert file.learn_authorities() is opened
    initialise(tmp_path, series=("press.oma.eop.gov.us",), shoulders=("99999/fk4",))
    path = tmp_path / "perdure.toml"
    path.write_text(path.read_text().replace("# port = 8080", "port = 9999"))
    learned = file.learn_authorities()
    assert learned.series == ("oma.eop.gov.us", "press.oma.eop.gov.us")
    assert (learned.shoulders, learned.port) == (("99999/fk4",), 8080)
    assert file.current is learned is file.learn_authorities()


def test_a_file_that_cannot_be_read_just_now_changes_nothing(tmp_path: Path) -> None:
    initialise(tmp_path, series=("oma.eop.gov.us",))
    file = SettingsFile(tmp_path, {})
    path = tmp_path / "perdure.toml"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    assert file.learn_authorities().series == ("oma.eop.gov.us",)
    path.unlink()
    assert file.learn_authorities().series == ("oma.eop.gov.us",)
    path.write_text(whole.replace('["oma.eop.gov.us"]', '["oma.eop.gov.us", "a.us"]'))
    assert file.learn_authorities().series == ("oma.eop.gov.us", "a.us")


def test_the_list_of_allowed_signers_of_a_name() -> None:
    given = ("a.us=pdi://a.us/2026/11/23/1", "hdl:1839/=hdl:1839/keys", "*=pdi://b.us/2026/11/23/2")
    settings = Settings(allowed_signers=given)
    for name, listed in (
        ("pdi://a.us/2026/01/01/1.text.1#char=0,1", given[0]),
        ("pdi://a.us/2026/", given[0]),
        ("hdl:1839/x", given[1]),
        ("pdi://aa.us/2026/01/01/1", given[2]),
        ("pdi://c.a.us/2026/01/01/1", given[2]),
    ):
        assert str(settings.find_signers(parse(name))) == listed.partition("=")[2]
    assert Settings(allowed_signers=given[:1]).find_signers(parse("hdl:1839/x")) is None


@pytest.mark.parametrize(
    "text",
    [
        "a.us",
        "=hdl:1/2",
        "a.us=",
        "a.us=x",
        "a.us=pdi://a.us/2026/",
        "a.us=pdi://a.us/2026/1/1/1.text.1",
    ],
)
def test_a_list_of_allowed_signers_is_a_document(text: str) -> None:
    with pytest.raises(BadSettings) as refused:
        Settings(allowed_signers=(text,))
    assert refused.value.setting == "allowed_signers"


def test_an_older_name_of_a_setting_is_read() -> None:
    with pytest.warns(RenamedSetting, match="replay_origin is called content_origin now"):
        found = read_table({"replay_origin": "https://a.example"}, {})
    assert found.content_origin == "https://a.example"
    with pytest.warns(RenamedSetting, match="PERDURE_REPLAY_ORIGIN is called"):
        found = read_table({}, {"PERDURE_REPLAY_ORIGIN": "https://b.example"})
    assert found.content_origin == "https://b.example"


def test_the_newer_name_of_a_setting_takes_precedence() -> None:
    both = {"replay_origin": "https://a.example", "content_origin": "https://b.example"}
    with pytest.warns(RenamedSetting):
        assert read_table(both, {}).content_origin == "https://b.example"
