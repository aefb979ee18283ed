"""The graph of FILE for LangGraph's server, which brings a saver and a store of its own."""

from __future__ import annotations

import os

from ..graphs.compile import Graph
from .target import load


def served_graph(file: str, *, folder: str, model: str | None = None) -> Graph:
    """The graph of the workflow that FILE names, seen from `folder`.

    Parallel parts run in LangGraph's own supersteps, so that a breakpoint on one of them stops.
    """
    os.chdir(folder)
    workflow = load(file, model=model).workflow
    return workflow.replace(checkpointer=None, store=None, scheduling="superstep").graph
