"""A run that somebody else drives: a server, another graph, a caller of the compiled graph itself.

Nothing of ours lives as long as such a run. Where its caller asked for LangGraph's `custom` stream,
what writes into that stream does, and so holds the run's count of events.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter

from ..nodes.frame import RunScope, current_run
from ..nodes.streamed import asked
from .flow import FlowEnd

_runs: WeakKeyDictionary[StreamWriter, dict[str, RunScope]] = WeakKeyDictionary()


def tell_start(runtime: Runtime[Any], *, resumed: bool) -> None:
    """Tell that a run begins that somebody else drives."""
    stream = asked(runtime)
    if current_run.get() is None and stream is not None:
        _begin(stream, runtime, resumed)


def run_of(runtime: Runtime[Any]) -> RunScope:
    """The run that a node of the root graph belongs to. One that goes on after a pause begins here."""
    if (own := current_run.get()) is not None:
        return own
    if (stream := asked(runtime)) is None:
        return RunScope()
    return _runs.get(stream, {}).get(_invocation()) or _begin(stream, runtime, resumed=True)


def tell_end(run: RunScope, outcome: Any, end: FlowEnd) -> None:
    """Tell the end of a run that somebody else drives."""
    if current_run.get() is None:
        told = f"{end.path}: {end.message}" if end.path and end.message else end.message or None
        run.emit(
            "agent_end", "", outcome=outcome, reason=end.reason, error=told, is_error=outcome == "failed"
        )


def _begin(stream: StreamWriter, runtime: Runtime[Any], resumed: bool) -> RunScope:
    known = runtime.execution_info.run_id if runtime.execution_info else None
    run = RunScope(known or str(uuid4()), resumed=resumed)
    _runs.setdefault(stream, {})[_invocation()] = run
    run.emit("agent_start", "", resumed=resumed)
    return run


def _invocation() -> str:
    """What tells invocations apart that share a stream: where the root graph stands in another graph."""
    namespace: str = get_config().get("configurable", {}).get("checkpoint_ns", "")
    return namespace.rpartition("|")[0]
