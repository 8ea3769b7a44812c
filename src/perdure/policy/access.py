"""Access to captures: who may read those of a web archive. Pure.

`perdure.policy.reading_rights` decides about records.
"""

from __future__ import annotations

from perdure.model.queries import Reader
from perdure.model.records import LOCAL


def may_read_captures(reader: Reader, access: str) -> bool:
    """Return True if the reader may read the captures of an archive with this access.

    Those of a closed archive are read only on its premises: by people on the machine itself.
    """
    return access != "closed" or reader.name == LOCAL
