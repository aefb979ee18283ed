"""The examples with a model that takes a minute for its very first answer."""

from pathlib import Path
from typing import Any

from plait import Workflow, examples
from plait.examples import approvals as refunds
from plait.examples import chat as chatting
from plait.examples import delegation as delegating
from plait.examples import plan_execute as planning
from plait.examples.accounting import scripted as booking
from plait.examples.accounting.units import accounting_workflow
from plait.examples.project import scripted as asking
from plait.examples.project_questions import project_workflow
from plait.examples.review import scripted as reviewing
from plait.examples.review.units import review_workflow
from plait.testing import Request
from plait.workflow_file import load_workflow


def slow(made: Any, workflow: Any) -> Any:
    model = made.scripted_model()

    def delay_s(request: Request) -> float:
        return 60.0 if len(model.requests) == 1 else 0.0

    model.delay_s = delay_s
    built: Workflow = workflow(model)
    return built.replace(scheduling="superstep").graph


def slow_file(path: Path) -> Any:
    """The same for a workflow from a file, with the replies that are written in it."""
    workflow = load_workflow(path, scheduling="superstep")
    model = workflow.bound.binding.model
    model.delay_s = lambda request: 60.0 if len(model.requests) == 1 else 0.0
    return workflow.graph


accounting = slow(booking, accounting_workflow)
approvals = slow(refunds, refunds.refund_workflow)
chat = slow(chatting, chatting.chat_workflow)
code_review = slow(reviewing, review_workflow)
delegation = slow(delegating, delegating.delegating_workflow)
map_reduce = slow_file(Path(examples.__path__[0]) / "map-reduce.yaml")
plan_execute = slow(planning, planning.answering_workflow)
project_questions = slow(asking, lambda model: project_workflow(Path.cwd(), model))
