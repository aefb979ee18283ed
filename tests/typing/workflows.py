"""What a workflow's runs give, as a type checker sees it. Checked, never run."""

from typing import Any, assert_type

from pydantic import BaseModel

from plait import RouterFlow, Run, RunResult, Snapshot, Thread, Workflow, WorkflowUnit, create_workflow


class Draft(BaseModel):
    text: str


class Report(BaseModel):
    title: str


def count(snapshot: Snapshot) -> int:
    return len(snapshot.steps)


draft = WorkflowUnit("draft", output=Draft)
report = WorkflowUnit("report", output=Report)
workflow = Workflow(draft >> report, model="openai:gpt-5-mini")

assert_type(workflow, Workflow[Report])
assert_type(Workflow(WorkflowUnit("talk")), Workflow[str])
assert_type(Workflow(count), Workflow[int])
assert_type(workflow.replace(model=None), Workflow[Report])
assert_type(workflow.replace(flow=draft), Workflow[Draft])
assert_type(workflow.run_sync("write"), RunResult[Report])
assert_type(workflow.run_sync("write").output.title, str)
assert_type(workflow.resume_sync("a thread"), RunResult[Report])
assert_type(workflow.start("write"), Run[Report])
assert_type(workflow.thread("a thread"), Thread[Report])


async def use() -> None:
    assert_type(await workflow.run("write"), RunResult[Report])
    assert_type(await workflow.resume("a thread"), RunResult[Report])
    assert_type(await workflow.start("write").result(), RunResult[Report])
    assert_type(await workflow.thread("a thread").result(), RunResult[Report])
    assert_type(await workflow.thread("a thread").resume(), RunResult[Report])
    assert_type(await workflow.batch(["one", "two"]), list[RunResult[Report]])
    both = await workflow.batch(["one", "two"], return_exceptions=True)
    assert_type(both, list[RunResult[Report] | BaseException])
    async with workflow as opened:
        assert_type(opened, Workflow[Report])


def chosen(label: WorkflowUnit[str]) -> Draft | Report:
    routed: Workflow[Draft | Report] = Workflow(RouterFlow(label, {"draft": draft, "report": report}))
    return routed.run_sync("write").output


def any_result(result: RunResult) -> Any:
    """Without a parameter it is as it was: the output may be anything."""
    return result.output.whatever


workflow.run_sync("write").output.text  # type: ignore[attr-defined]
wrong: Workflow[Draft] = workflow  # type: ignore[assignment]
Workflow("draft")  # type: ignore[arg-type]
create_workflow("draft", lambda prompt, schema: None)  # type: ignore[arg-type]
