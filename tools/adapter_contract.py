"""A contract of import-linter: what entry points load is imported by no other package.

How it works: `groups` of the contract names groups of entry points. The package of each of their
values is protected, as in a contract of the type `protected` without `allowed_importers`. So a new
store is covered by its entry point, and `pyproject.toml` need not name it twice.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from importlinter import fields
from importlinter.contracts.protected import ProtectedContract

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def list_adapters(groups: Iterable[str], project: Path = PROJECT) -> list[str]:
    """The packages of the values of these groups of entry points, each once, in order."""
    declared = tomllib.loads(project.read_text("utf-8"))["project"]["entry-points"]
    values = [value for group in groups for value in declared[group].values()]
    return sorted({value.partition(":")[0].rpartition(".")[0] for value in values})


class AdapterContract(ProtectedContract):
    """The packages that the entry points of some groups load are imported by no other package."""

    type_name = "adapters"

    groups = fields.ListField(subfield=fields.StringField())
    protected_modules = fields.ListField(subfield=fields.ModuleExpressionField(), required=False)
    allowed_importers = fields.ListField(
        subfield=fields.ModuleExpressionField(), required=False, default=[]
    )

    def validate(self) -> None:
        """Find the packages to protect."""
        self.protected_modules = (
            type(self)
            .__dict__["protected_modules"]
            .parse(list_adapters(cast("list[str]", self.groups)))
        )
