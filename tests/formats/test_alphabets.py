"""A stated language helps to find the charset of a text."""

from __future__ import annotations

import pytest

from perdure.formats import alphabets, find_charset
from perdure.formats.detect import detect_type

# The first article of the Universal Declaration of Human Rights, as the United Nations print it.
ARTICLES = {
    "da": "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med "
    "fornuft og samvittighed, og de bør handle mod hverandre i en broderskabets ånd.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft "
    "und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
    "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni "
    "rozumem a svědomím a mají spolu jednat v duchu bratrství.",
    "hu": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, "
    "ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy "
    "viseltessenek.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены "
    "разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. "
    "Είναι προικισμένοι με λογική και συνείδηση.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
}
CASES = [
    *((tag, codec) for tag in ("da", "de") for codec in ("latin_1", "cp850")),
    *((tag, codec) for tag in ("pl", "cs", "hu") for codec in ("iso8859_2", "cp852")),
    ("pl", "cp1250"),
    *(("ru", codec) for codec in ("koi8_r", "cp1251", "iso8859_5", "cp866")),
    *(("el", codec) for codec in ("iso8859_7", "cp1253")),
    *(("ja", codec) for codec in ("shift_jis", "euc_jp")),
]


@pytest.mark.parametrize(("tag", "codec"), CASES)
def test_the_letters_of_a_language_tell_its_charset(tag: str, codec: str) -> None:
    data = ARTICLES[tag].encode(codec)
    found = detect_type(data, language=f"{tag}-x-any")
    known, expected = find_charset(found.charset or ""), find_charset(codec)
    assert known is not None
    assert expected is not None
    assert data.decode(str(known.codec)) == ARTICLES[tag]
    assert known == expected or data.decode(str(known.codec)) == data.decode(codec)


def test_two_letters_are_enough() -> None:
    data = "Bl\u00e5b\u00e6r\r\n".encode("cp850")
    assert detect_type(data).charset == "ibm850"
    assert detect_type(data, language="da").charset == "ibm850"


OLD = {
    "da": "Blåbær på rødgrød. Det gælder også ældre mennesker, som går over åen.",
    "de": "Die größten Häuser für Müller und Söhne, Bürger übermütig, natürlich schön.",
    "fr": "L'été dernier, près du théâtre, où être heureux, ça dépend de la forêt.",
    "sv": "Här är många öppna dörrar, också på hösten när åarna är fulla.",
    "pl": "Zażółć gęślą jaźń. Dziś jest piękny dzień, więc idźmy się przejść.",
}


@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize("codec", ["cp850", "cp437", "cp852", "mac_roman"])
@pytest.mark.parametrize("text", OLD.values(), ids=OLD)
def test_texts_of_dos_are_found_without_a_language(text: str, codec: str, times: int) -> None:
    """Signs of windows-1252 never occur between two letters."""
    try:
        data = text.encode(codec) * times
    except UnicodeEncodeError:
        return  # this charset does not have the letters
    charset = find_charset(detect_type(data).charset or "")
    assert charset is not None
    assert data.decode(str(charset.codec)) == text * times


@pytest.mark.parametrize("text", ["don’t wait…well—“no” ™ €5", "†a ‡b ©c, it’s “so” — or…not"])
def test_signs_of_windows_stay_signs(text: str) -> None:
    assert detect_type(text.encode("cp1252")).charset == "windows-1252"


@pytest.mark.parametrize("language", ["en", "de", "tlh", "ja", "x-private"])
def test_a_wrong_or_unknown_language_does_no_harm(language: str) -> None:
    """General detection decides if the letters of the language do not explain the text."""
    data = ARTICLES["ru"].encode("koi8_r")
    assert alphabets.find_codec(data, language) is None
    assert detect_type(data, language=language) == detect_type(data)


def test_what_needs_no_guess_stays() -> None:
    for data in (b"plain", "\u00e5".encode(), b"<meta charset=koi8-r>\xc1\xc2", b"\x00\x01\xff"):
        assert detect_type(data, language="da") == detect_type(data)
