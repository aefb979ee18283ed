"""What the units of a turn that broke off had said, read from the checkpoints it left.

A unit's transcript reaches the thread when the unit's part of the root flow has ended. Until then it
is in the checkpoints of the unit's own graph, wherever that ran, and so is it after a cancel or a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

# as in nodes.userconfig: LangGraph has no public names for these; a test pins them
from langgraph._internal._constants import (
    CONF,
    CONFIG_KEY_CHECKPOINT_ID,
    CONFIG_KEY_CHECKPOINT_MAP,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    RETURN,
)
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.state import CompiledStateGraph

from ..core.delta import Transcripts
from ..core.paths import memory_key
from ..core.ports import Journal
from ..nodes.closing import closed
from ..nodes.journal import of_round
from ..nodes.react import ReactRole
from ..nodes.unit import WorkflowUnit

PROGRESS, PLACE = "progress", "place"
"""The channel by which a unit's checkpoints are known, and the key in it that says where the unit stands."""


async def cut_transcripts(config: RunnableConfig, entry: str, journal: Journal | None) -> Transcripts:
    """The transcripts of the turn that was cut before the one that now begins, open calls closed.

    `config` is that of the turn's first node, whose name is `entry`; none without a saver. The `journal`
    may know of calls that ended and were not yet in a checkpoint.
    """
    given = config.get(CONF, {})
    saver, own = given.get(CONFIG_KEY_CHECKPOINTER), _namespace(given)
    if not saver:
        return {}
    place = {"thread_id": given.get("thread_id"), CONFIG_KEY_CHECKPOINT_NS: own}
    now = given.get(CONFIG_KEY_CHECKPOINT_MAP, {}).get(own)
    cut = await _cut(saver, {**place, CONFIG_KEY_CHECKPOINT_ID: now}, entry) if now else None
    if cut is None:
        return {}
    found: dict[str, tuple[BaseMessage, ...]] = {}
    for namespace in await _left(saver, place, cut):
        below = {**given, CONFIG_KEY_CHECKPOINT_NS: namespace}
        below.pop(CONFIG_KEY_CHECKPOINT_ID, None)
        found |= await _transcript(saver, below, journal)
    return found


def _namespace(given: Mapping[str, Any]) -> str:
    """The namespace of the graph whose node runs: the node's own without its last part."""
    return str(given.get(CONFIG_KEY_CHECKPOINT_NS) or "").rpartition("|")[0]


async def _cut(saver: Any, place: dict[str, Any], entry: str) -> str | None:
    """The id of the checkpoint from which the former turn went no further; None when there is none."""
    saved: CheckpointTuple | None = await saver.aget_tuple({CONF: place})
    while saved is not None and _is_opening(saved, entry):
        saved = await saver.aget_tuple(saved.parent_config) if saved.parent_config else None
    return None if saved is None else str(saved.checkpoint["id"])


def _is_opening(saved: CheckpointTuple, entry: str) -> bool:
    """Whether nothing of a turn has run at this checkpoint but the taking of its input."""
    is_input = saved.metadata.get("source") == "input"
    return is_input or f"branch:to:{entry}" in saved.checkpoint["channel_values"]


async def _left(saver: Any, place: Mapping[str, Any], cut: str) -> list[str]:
    """The namespaces of the units that ran from the checkpoint `cut`, in the order of their last steps."""
    own, last = place[CONFIG_KEY_CHECKPOINT_NS], dict[str, str]()
    async for saved in saver.alist({CONF: {"thread_id": place["thread_id"]}}):
        namespace = saved.config[CONF].get(CONFIG_KEY_CHECKPOINT_NS, "")
        is_below = saved.metadata.get("parents", {}).get(own) == cut
        if is_below and PROGRESS in saved.checkpoint["channel_versions"]:
            last[namespace] = max(saved.checkpoint["id"], last.get(namespace, ""))
    return sorted(last, key=last.__getitem__)


async def _transcript(saver: Any, given: dict[str, Any], journal: Journal | None) -> Transcripts:
    """What the unit whose checkpoints are in a namespace had said, by its memory key."""
    config: RunnableConfig = {CONF: given}
    state = await _reader().aget_state(config)
    saved: CheckpointTuple | None = await saver.aget_tuple(config)
    pending = (saved.pending_writes if saved is not None else None) or []
    written = [value for _, channel, value in pending if channel == "messages"]
    results = [value for _, channel, value in pending if channel == RETURN and "message" in value]
    held = state.values.get("messages", ())
    called = len(getattr(held[-1], "tool_calls", ())) if held else 0
    for task in state.tasks if journal is not None and called else ():
        namespace = f"{given[CONFIG_KEY_CHECKPOINT_NS]}|{task.name}:{task.id}"
        entries = await of_round(journal, str(given["thread_id"]), namespace, called)  # type: ignore[arg-type]
        results += [entry.result["call"] for entry in entries if entry.state == "done"]
    place = _place_in(state.values.get(PROGRESS))
    return {memory_key(place): closed(held, written, results)} if place else {}


def _place_in(progress: Any) -> str:
    """Where the unit stands, as its progress says; a graph that is not ours may call anything progress."""
    return str(progress.get(PLACE) or "") if isinstance(progress, Mapping) else ""


@cache
def _reader() -> CompiledStateGraph[Any, Any, Any, Any]:
    """A unit's graph, to read the checkpoints of any unit with."""
    return ReactRole(WorkflowUnit("reader"), None).graph
