"""A workflow outside of Python: as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .workflow import Workflow


class Written:
    """The part of Workflow that reads and writes its YAML form."""

    @staticmethod
    def from_yaml(path: str | Path, **changes: Any) -> Workflow[Any]:
        """The workflow of a .yaml file; `changes` are options of Workflow that count instead of the file's.

        Raises SpecError with every fault of the file. See `docs/yaml.md`.
        """
        from .workflow_file import load_workflow

        return load_workflow(path, **changes)

    def to_yaml(self, *, model: str | None = None) -> str:
        """This workflow as YAML text, from which `from_yaml` makes an equal one; `model` is written in
        place of its own, as in "openai:gpt-5-mini" for one that is scripted here.

        Raises DefinitionError, naming each, for what has no form there, such as a lambda.
        """
        from .workflow_file import workflow_to_yaml

        workflow: Any = self
        return workflow_to_yaml(workflow, model=model)
