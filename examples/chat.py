"""A routed chat that remembers: `python -m plait.examples.chat`, or `--demo` for ten turns that are shipped.

Each message goes to one of three units: `note` keeps something, `recall` tells what was kept, `talk` answers
anything else and sees the whole conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from plait import RouterFlow, RunError, Snapshot, ToolRuntime, Workflow, WorkflowUnit, tool
from plait.examples.models import chosen_model
from plait.testing import Request, ScriptedModel, call, text

DEMO = Path(__file__).parent / "data" / "chat.txt"


@tool(effect="idempotent")
def keep(note: str, runtime: ToolRuntime) -> str:
    """Keep a note, in the user's own words."""
    kept = [*runtime.shared.get("notes", []), note]
    runtime.shared.set("notes", kept)
    return f"Kept as note {len(kept)}."


@tool(effect="read")
def notes(runtime: ToolRuntime) -> str:
    """All notes so far, a line each."""
    return "\n".join(runtime.shared.get("notes", [])) or "There are no notes yet."


def message_alone(snapshot: Snapshot) -> Any:
    """What the answering units see: the message, without where it was routed."""
    return snapshot.task


route = WorkflowUnit(
    "route",
    prompt="Say which of the handlers the message is for. note: it asks to remember something. "
    "recall: it asks what was remembered. talk: anything else.",
)
note = WorkflowUnit(
    "note",
    prompt="Keep what the user wants remembered with `keep`, then confirm it in one sentence.",
    tools=[keep],
    input_adapter=message_alone,
    answer="text",
)
recall = WorkflowUnit(
    "recall",
    prompt="Read the notes with `notes`, then tell the user what they say.",
    tools=[notes],
    input_adapter=message_alone,
    answer="text",
)
talk = WorkflowUnit(
    "talk",
    prompt="Chat kindly, in one or two sentences, in the language of the user.",
    input_adapter=message_alone,
    conversation=True,
    answer="text",
)
chat = RouterFlow(route, {"note": note, "recall": recall, "talk": talk})


def chat_workflow(model: Any, *, checkpointer: Any = "memory") -> Workflow:
    """The chat on a model; a thread is one user's conversation."""
    return Workflow(chat, model=model, checkpointer=checkpointer, name="chat")


def scripted_model(delay_s: float = 0.0) -> ScriptedModel:
    """A model that needs no key; it takes `delay_s` seconds for each answer of the three units."""
    script = {"route": _route, "note": _note, "recall": _recall, "talk": _talk}
    return ScriptedModel(script, delay_s=lambda request: 0.0 if request.unit == "route" else delay_s)


def _route(request: Request) -> Any:
    if re.match(r"remember|记住", request.user, re.IGNORECASE):
        return call("resolve", value="note")
    asks = re.search(r"what did i|我说过什么", request.user, re.IGNORECASE)
    return call("resolve", value="recall" if asks else "talk")


def _note(request: Request) -> Any:
    if request.tool_results:
        return text(f"{request.tool_results[-1].text} I will remember it.")
    return call("keep", note=re.split("[:：]", request.user, maxsplit=1)[-1].strip())


def _recall(request: Request) -> Any:
    if request.tool_results:
        return text("You told me:\n" + request.tool_results[-1].text)
    return call("notes")


def _talk(request: Request) -> Any:
    said = sum(message.type == "human" for message in request.messages)
    return text(f"You said “{request.user}”, which is message {said} of our chat.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="chat", description="A routed chat that remembers.")
    parser.add_argument("--file", type=Path, help="a file with a message a line, instead of the terminal")
    parser.add_argument("--demo", action="store_true", help="the ten messages that are shipped")
    parser.add_argument("--checkpointer", default="memory", help="where it is kept, as in sqlite:///chat.db")
    parser.add_argument("--thread", default="me", help="whose conversation it is")
    args = parser.parse_args(argv)
    model, notice = chosen_model(scripted_model)
    print(notice, flush=True)
    source = DEMO if args.demo else args.file
    given = source.read_text(encoding="utf-8-sig").splitlines() if source else None
    try:
        failed = asyncio.run(
            _talk_over(chat_workflow(model, checkpointer=args.checkpointer), given, args.thread)
        )
    except KeyboardInterrupt:
        return 130
    return int(failed)


async def _talk_over(workflow: Workflow, given: list[str] | None, thread_id: str) -> bool:
    """One turn for each message, its answer printed while it is written. Returns whether one failed."""
    failed = False
    async with workflow:
        async for message in _messages(given):
            try:
                await _turn(workflow, message, thread_id)
            except RunError as error:
                failed = True
                print(f"! {error}", file=sys.stderr)
    return failed


async def _turn(workflow: Workflow, message: str, thread_id: str) -> None:
    run = workflow.start(message, thread_id=thread_id)
    print("< ", end="")
    async for event in run.events(types=["message_update"]):
        if event.path != route.id:
            print(event.delta or "", end="", flush=True)
    print()
    await run.result()


async def _messages(given: list[str] | None) -> AsyncIterator[str]:
    """The messages of a file, or what is typed until the end of input."""
    while given is None:
        try:
            line = await asyncio.to_thread(input, "> ")
        except EOFError:
            return
        if line.strip():
            yield line.strip()
    for line in given:
        if line.strip():
            print(f"> {line.strip()}")
            yield line.strip()


if __name__ == "__main__":
    sys.exit(main())
