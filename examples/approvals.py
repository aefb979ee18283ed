"""Refunds with a person in the loop: `python -m plait.examples.approvals "Please refund order A18."`.

A clerk asks a colleague when a message does not say which order it is about. A refund of more than 100
waits until somebody approves, changes or rejects it. After a crash in the middle of a refund the till is
asked whether it happened, so that nobody is paid twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolMessage
from pydantic import BaseModel, Field

from plait import PlaitError, RunResult, Workflow, WorkflowUnit, approve, reject, tool
from plait import ask as ask_a_person
from plait.core.ports import Question
from plait.examples.models import chosen_model
from plait.testing import Request, ScriptedModel, call, text
from plait.testing.replies import Call, Reply

DEMO = "My desk came with a scratch, I want my money back."
DEMO_ANSWER = "It is order A18."
ORDERS = {"A17": ("lamp", 40), "A18": ("desk", 240), "A19": ("chair", 95)}
FREE_HAND = 100
"""Up to this much the clerk may refund alone."""


class Refund(BaseModel):
    """What came of a message."""

    order: str
    amount: int = Field(ge=0, description="what was paid back; 0 when nothing was")
    note: str = ""


@dataclass(frozen=True, slots=True)
class Till:
    """What was paid back, in one SQLite table: once for each order."""

    path: Path

    def refund(self, order: str, amount: int) -> str:
        """Pay back an amount for an order. An order is refunded once."""
        with self._connect() as connection:
            try:
                connection.execute("INSERT INTO refunds VALUES (?, ?)", (order, amount))
            except sqlite3.IntegrityError as error:
                raise ValueError(f"{order} was refunded before") from error
        return f"{amount} paid back for {order}"

    def refunded(self, order: str, amount: int) -> str | None:
        """What `refund` gave for an order, or None when that did not happen."""
        with self._connect() as connection:
            row = connection.execute("SELECT amount FROM refunds WHERE number = ?", (order,)).fetchone()
        return f"{row[0]} paid back for {order}" if row else None

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            connection.execute("CREATE TABLE IF NOT EXISTS refunds (number TEXT PRIMARY KEY, amount INTEGER)")
            yield connection


def find_order(number: str) -> str:
    """Look an order up by its number: what was bought, and for how much."""
    if number not in ORDERS:
        raise ValueError(f"there is no order {number}; there are {', '.join(ORDERS)}")
    item, price = ORDERS[number]
    return f"{number}: {item}, {price}"


def ask_colleague(question: str) -> str:
    """Ask a colleague what the message does not say. It may take a while."""
    return str(ask_a_person(question))


def _is_much(args: Any) -> str | bool:
    much = args["amount"] > FREE_HAND
    return f"{args['amount']} is more than the {FREE_HAND} that a clerk may refund alone." if much else False


def clerk(till: Till) -> WorkflowUnit[Refund]:
    """The unit that decides; `till` is where it pays."""
    refund = tool(till.refund, probe=till.refunded, approval=_is_much)
    return WorkflowUnit(
        "clerk",
        prompt="""You handle refunds. Find the order first; ask a colleague when the message does not say
which. Refund the price, or less when you are told so. Resolve with what was paid, 0 when it was refused.""",
        output=Refund,
        tools=[tool(find_order, effect="read"), tool(ask_colleague, effect="read"), refund],
    )


letter: WorkflowUnit[str] = WorkflowUnit(
    "letter", prompt="Tell the customer in two friendly sentences what was decided.", answer="text"
)


def refund_workflow(model: Any, *, till: Path = Path("refunds.db"), checkpointer: str = "memory") -> Workflow:
    """The workflow on a model; its output is the letter to the customer."""
    return Workflow(clerk(Till(till)) >> letter, model=model, checkpointer=checkpointer, name="refunds")


def scripted_model() -> ScriptedModel:
    """A model that needs no key: it plays both units by rules that read what they are sent."""
    return ScriptedModel({"clerk": _decide, "letter": _write})


def _decide(request: Request) -> Call:
    results = [message for message in request.messages if isinstance(message, ToolMessage)]
    told = {str(message.name): message for message in results}
    said = "\n".join(str(message.text) for message in request.messages if message.type in ("human", "tool"))
    order = re.search(r"\b[A-Z]\d\d\b", said)
    if order is None:
        return call("ask_colleague", question=f"Which order is this about? {request.first_user}")
    if "find_order" not in told:
        return call("find_order", number=order[0])
    if told["find_order"].status == "error":
        return call("resolve", order=order[0], amount=0, note=str(told["find_order"].text))
    if "refund" not in told:
        return call("refund", order=order[0], amount=_amount(said, ORDERS[order[0]][1]))
    paid = re.search(r"(\d+) paid back", str(told["refund"].text))
    why = "" if paid else str(told["refund"].text)
    return call("resolve", order=order[0], amount=int(paid[1]) if paid else 0, note=why)


def _amount(said: str, price: int) -> int:
    """What is asked for: `only 20`, else the whole price."""
    limits = re.findall(r"\bonly (\d+)\b", said)
    return min(int(limits[-1]), price) if limits else price


def _write(request: Request) -> Reply:
    decided = json.loads(request.user.rpartition("Output of clerk:\n")[2])
    if decided["amount"]:
        return text(
            f"We are sorry for the trouble. {decided['amount']} is on its way for {decided['order']}."
        )
    return text(f"Thank you for writing. We cannot refund {decided['order']}: {decided['note']}.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="approvals", description="Refunds with a person in the loop.")
    parser.add_argument("message", nargs="?", default=DEMO, help=f"(default: {DEMO})")
    parser.add_argument("--demo", action="store_true", help="the default message, answered by itself")
    parser.add_argument("--till", type=Path, default=Path("refunds.db"), help="where refunds are kept")
    args = parser.parse_args(argv)
    model, notice = chosen_model(scripted_model)
    print(notice, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        workflow = refund_workflow(model, till=Path(folder) / "till.db" if args.demo else args.till)
        try:
            result = asyncio.run(_answered(workflow, args.message, _by_itself if args.demo else _typed))
        except (PlaitError, EOFError) as error:
            print(f"No answer: {error}", file=sys.stderr)
            return 1
    print(f"\n{result.output}")
    return 0


async def _answered(workflow: Workflow, message: str, answer: Callable[[Question], Any]) -> RunResult[Any]:
    """Run to the end; each time the run pauses, `answer` says what is answered to each question."""
    async with workflow:
        result = await workflow.run(message, thread_id=str(uuid4()))
        while result.outcome == "paused":
            answers = {asked.id: await asyncio.to_thread(answer, asked) for asked in result.interrupts}
            result = await workflow.resume(result.thread_id, answers)
    return result


def _shown(asked: Question) -> str:
    if asked.kind != "approval":
        return str(asked.question)
    request = asked.question["action_request"]
    return f"{request['action']} {request['args']}: {asked.question['description']}"


def _typed(asked: Question) -> Any:
    if asked.kind != "approval":
        return input(f"{_shown(asked)}\n> ")
    said = input(f"{_shown(asked)}\nApprove? Enter, or why not > ")
    return reject(said) if said else approve()


def _by_itself(asked: Question) -> Any:
    print(f"{_shown(asked)}\n> {'approved' if asked.kind == 'approval' else DEMO_ANSWER}")
    return approve() if asked.kind == "approval" else DEMO_ANSWER


if __name__ == "__main__":
    sys.exit(main())
