"""Ask about a folder: `python -m plait.examples.project_questions FOLDER "How do I run the tests?"`.

One unit with three tools, executed in three ways: with tool calling, over plain text for models
without it (`--protocol text`), and with a plain reply as the answer (`--answer text`).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from plait import PlaitError, RunError, Workflow, WorkflowUnit, react_adapter, text_react_adapter
from plait.examples.models import chosen_model
from plait.examples.project.folder import Folder
from plait.examples.project.scripted import scripted_model

Protocol = Literal["tools", "text"]
AnswerForm = Literal["typed", "text"]

PROMPT = """You answer questions about a software project, from its own files alone. Search its documents or
read its scripts first, and read a document before you rely on it. Say so when the files do not tell."""


class Answer(BaseModel):
    """An answer, and the documents it comes from."""

    answer: str
    sources: list[str] = []


def project_workflow(
    folder: Path, model: Any, *, protocol: Protocol = "tools", answer: AnswerForm = "typed"
) -> Workflow:
    """The workflow on a model; its output is an Answer, or text."""
    tools = Folder(folder).tools
    unit: WorkflowUnit[Any] = WorkflowUnit("ask", prompt=PROMPT, output=Answer, tools=tools)
    if answer == "text":
        unit = unit.with_(output=str, answer="text")
    adapter = react_adapter(model=model) if protocol == "tools" else text_react_adapter(model=model)
    return Workflow(unit, adapter=adapter, default_effect="read")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    if not args.folder.is_dir():
        parser.error(f"{args.folder} is no folder")
    try:
        model, notice = chosen_model(scripted_model)
        workflow = project_workflow(args.folder, model, protocol=args.protocol, answer=args.answer)
    except PlaitError as error:
        parser.error(str(error))
    print(notice, flush=True)
    try:
        result = asyncio.run(workflow.run(args.question))
    except RunError as error:
        print(f"No answer: {error}", file=sys.stderr)
        return 1
    _print(result.output)
    for made in result.steps[0].tool_calls:
        print(f"  [{made.name} {made.args}]")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="project_questions",
        description="Ask a question about a project's folder.",
        epilog="With OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) a real model does the work.",
    )
    parser.add_argument("folder", type=Path, help="the project's folder; nothing outside it is read")
    parser.add_argument("question")
    parser.add_argument("--protocol", choices=["tools", "text"], default="tools", help="how tools are called")
    parser.add_argument("--answer", choices=["typed", "text"], default="typed", help="what the answer is")
    return parser


def _print(output: Answer | str) -> None:
    if isinstance(output, str):
        print(output)
        return
    print(output.answer)
    if output.sources:
        print(f"Sources: {', '.join(output.sources)}")


if __name__ == "__main__":
    sys.exit(main())
