"""The graphs that `langgraph.json` names, for LangGraph's server and Studio.

Parallel parts run in LangGraph's own supersteps here, so that a breakpoint on one of them stops.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from plait import Workflow
from plait.examples import approvals as refunds
from plait.examples import chat as chatting
from plait.examples import delegation as delegating
from plait.examples import plan_execute as planning
from plait.examples.accounting.scripted import scripted_model as accounting_model
from plait.examples.accounting.units import accounting_workflow
from plait.examples.models import chosen_model
from plait.examples.project.scripted import scripted_model as project_model
from plait.examples.project_questions import project_workflow
from plait.examples.review.scripted import scripted_model as review_model
from plait.examples.review.units import review_workflow
from plait.graphs.compile import Graph
from plait.workflow_file import load_workflow


def _served(workflow: Callable[[Any], Workflow], scripted: Callable[[], Any]) -> Graph:
    return workflow(chosen_model(scripted)[0]).replace(scheduling="superstep").graph


def _project(model: Any) -> Workflow:
    """Questions about the folder in which the server was started."""
    return project_workflow(Path.cwd(), model)


accounting = _served(accounting_workflow, accounting_model)
approvals = _served(refunds.refund_workflow, refunds.scripted_model)
chat = _served(chatting.chat_workflow, chatting.scripted_model)
code_review = _served(review_workflow, review_model)
delegation = _served(delegating.delegating_workflow, delegating.scripted_model)
plan_execute = _served(planning.answering_workflow, planning.scripted_model)
map_reduce = load_workflow(Path(__file__).parent / "map-reduce.yaml", scheduling="superstep").graph
project_questions = _served(_project, project_model)
