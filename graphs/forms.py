"""What goes into a run and comes out of it, described for people: servers make forms of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints, is_typeddict

from pydantic import Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import CoreSchema
from typing_extensions import TypedDict  # typing's has no JSON schema before Python 3.12

from .channels import Given, Messages, Steps, TaskValue

Task = Annotated[
    TaskValue,
    Field(
        title="Task",
        description="What to do, as text; it begins a turn. Leave it empty when you write messages instead.",
        json_schema_extra={"type": "string"},
    ),
]
Conversation = Annotated[
    Messages,
    Field(
        title="Messages",
        description="Messages to add to the conversation; the last one, a user's, is what the turn is about. "
        "Leave them empty when you give a task.",
    ),
]
STATE = Field(title="State", description="Keys of the shared state to set before the turn begins.")


class RootInput(TypedDict, total=False):
    """A task or messages, and keys of the shared state."""

    task: Task
    messages: Conversation
    state: Annotated[Given, STATE]


class RootOutput(TypedDict, total=False):
    """What the turn came to."""

    output: Annotated[Any, Field(title="Output", description="What the workflow resolved with.")]
    outcome: Annotated[
        str, Field(title="Outcome", description="done, partial or failed; empty while the turn is under way.")
    ]
    messages: Annotated[Messages, Field(title="Messages", description="The conversation over all turns.")]
    steps: Annotated[Steps, Field(title="Steps", description="A record of each part that ran in this turn.")]
    state: Annotated[Given, Field(title="State", description="The shared state by key.")]


def root_input(state: type | None) -> type:
    """RootInput; the keys of a typed state are shown with their types and descriptions."""
    if state is None:
        return RootInput
    keys = {"task": Task, "messages": Conversation, "state": Annotated[Given, Keys(state), STATE]}
    return TypedDict("RootInput", keys, total=False)  # type: ignore[operator, no-any-return]


@dataclass(frozen=True)
class Keys:
    """A mark on the `state` of an input: it takes keys of this type, none of which has to be there.

    Defaults are not shown: a form would fill them in, and so write over what the thread holds.
    """

    state: type

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        try:
            shown = handler.resolve_ref_schema(handler(TypeAdapter(_readable(self.state)).core_schema))
        except PydanticUserError:  # a type without a JSON form
            return handler(core)
        keys = shown.get("properties", {})
        bare = {key: {name: told[name] for name in told if name != "default"} for key, told in keys.items()}
        return {**{name: told for name, told in shown.items() if name != "required"}, "properties": bare}


def _readable(state: type) -> Any:
    """The state's type as pydantic takes it: it refuses the TypedDict of an older Python's own `typing`."""
    if not is_typeddict(state):
        return state
    return TypedDict(state.__name__, get_type_hints(state, include_extras=True))  # type: ignore[operator]


__all__ = ["RootInput", "RootOutput", "root_input"]
