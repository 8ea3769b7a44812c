"""ARKs that are minted here, against names that other NOID minters have given out.

Sources of the expected names: the manual of `noid` (section NOID CHECK DIGIT ALGORITHM, and its
introduction at https://n2t.net/e/noid.html), names minted at the test shoulder of EZID, and one
that `arkpy` minted (https://gist.github.com/mjgiarlo/864337). The last of each is its check
character, which depends on the NAAN, the shoulder and the text.
"""

from __future__ import annotations

from pathlib import Path

from perdure.model.commands import Mint
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content

_GOLDEN = (
    ("13030/xf9", "3gt2", "ark:13030/xf93gt2q"),  # the worked example of the manual
    ("13030/tf5", "p30086", "ark:13030/tf5p30086k"),  # the introduction of the manual
    ("99999/fk4", "ck01k7", "ark:99999/fk4ck01k77"),  # EZID
    ("99999/fk4", "4479c3", "ark:99999/fk44479c3d"),  # EZID
    ("42409/kz4", "5m762", "ark:42409/kz45m762d"),  # arkpy
)


def test_minted_names_are_those_of_other_minters(tmp_path: Path) -> None:
    shoulders = tuple(dict.fromkeys(f"ark:{shoulder}" for shoulder, _, _ in _GOLDEN))
    initialise(tmp_path, shoulders=shoulders)
    with Registry(tmp_path, environment={}) as registry:
        for shoulder, text, expected in _GOLDEN:
            content = make_content(b"x", format="text", media_type="text/plain")
            receipt = registry.door.execute_command(
                Mint(authority=shoulder, uid=text, contents=(content,))
            )
            assert receipt.identifier == expected
