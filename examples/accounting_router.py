"""Book one-line messages: `python -m plait.examples.accounting_router "午饭 32"`.

The workflow itself is in `accounting/units.py`; this is its command line.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import io
import os
import sqlite3
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from plait import PlaitError, Workflow
from plait.examples.accounting import report
from plait.examples.accounting.ledger import Entry, Ledger
from plait.examples.accounting.reading import Unclear
from plait.examples.accounting.report import Failed, Reply
from plait.examples.accounting.scripted import scripted_model
from plait.examples.accounting.units import SAVED, Books, accounting_workflow
from plait.examples.models import chosen_model

DEMO_MESSAGES = Path(__file__).parent / "data" / "messages.txt"
DEMO_DAY = dt.date(2026, 11, 30)
EPILOG = """With OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) a real model does the work.
Exit status: 0 when at least one message was understood and none failed, 1 otherwise, 2 for wrong usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        try:
            messages = _messages(args)
            ledger = _ledger(args.ledger or Path(folder if args.demo else "") / "ledger.db")
            model, notice = chosen_model(scripted_model)
            workflow = accounting_workflow(model, checkpointer=args.checkpointer)
        except (PlaitError, ValueError, OSError) as error:
            parser.error(str(error))
        today = args.today or (DEMO_DAY if args.demo else dt.date.today())
        print(notice, flush=True)
        return _until_stopped(workflow, messages, Books(str(ledger.path), today), args.thread)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="accounting_router",
        description="Book one-line messages about expenses.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("message", nargs="*", help="one message, or - for standard input with a message a line")
    add("--file", type=Path, help="a file with a message a line")
    add("--demo", action="store_true", help=f"the shipped messages, on {DEMO_DAY}, in a ledger thrown away")
    add("--ledger", type=Path, help="the ledger's SQLite file (default: ledger.db)")
    add("--today", type=dt.date.fromisoformat, metavar="YYYY-MM-DD", help="the day to count from")
    add("--checkpointer", default="memory", help="where threads are kept, as in sqlite:///runs.db")
    add("--thread", default=uuid.uuid4().hex[:8], help="the first part of the messages' thread ids")
    return parser


def _messages(args: argparse.Namespace) -> list[str]:
    """The messages that the arguments name. Raises ValueError for none, or for several sources."""
    if sum(map(bool, (args.message, args.file, args.demo))) != 1:
        raise ValueError("give one of: a message, - for standard input, --file, --demo")
    if args.message and args.message != ["-"]:
        return [" ".join(args.message)]
    source = DEMO_MESSAGES if args.demo else args.file
    text = source.read_text(encoding="utf-8-sig") if source else sys.stdin.read()
    if messages := [line.strip() for line in text.splitlines() if line.strip()]:
        return messages
    raise ValueError(f"{source or 'standard input'} holds no message")


def _ledger(path: Path) -> Ledger:
    try:
        return Ledger(path)
    except sqlite3.Error as error:
        raise ValueError(f"ledger {path}: {error}") from error


def _until_stopped(workflow: Workflow, messages: list[str], books: Books, thread: str) -> int:
    try:
        replies = asyncio.run(_book(workflow, messages, books, thread))
        _summarise(messages, replies, books)
    except KeyboardInterrupt:
        print("\nStopped. What was booked before stays in the ledger.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left; keep Python from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    understood = [reply for reply in replies if not isinstance(reply, Unclear)]
    return 0 if understood and not any(isinstance(reply, Failed) for reply in replies) else 1


async def _book(workflow: Workflow, messages: list[str], books: Books, thread: str) -> list[Reply]:
    """Run the messages one after the other, each on a thread of its own, and print each result."""
    replies: list[Reply] = []
    labels = report.labels(messages)
    async with workflow:
        for number, (message, label) in enumerate(zip(messages, labels, strict=True), start=1):
            _progress(label)
            replies.append(await _reply(workflow, message, books, f"{thread}-{number}"))
            _progress("")
            print(label + report.verdict(replies[-1]), flush=True)
    return replies


async def _reply(workflow: Workflow, message: str, books: Books, thread_id: str) -> Reply:
    try:
        result = await workflow.run(message, thread_id=thread_id, context=books, state={SAVED: None})
        reply: Reply = result.output
    except Exception as error:  # whatever befalls one message, the others have their turn
        return Failed(f"{error} (thread {thread_id})")
    booked: Entry | None = (result.state or {}).get(SAVED)
    return booked if isinstance(reply, Entry) and booked is not None else reply  # as it is in the ledger


def _summarise(messages: list[str], replies: list[Reply], books: Books) -> None:
    """Print the ledger's totals and, of several messages, those that came to nothing."""
    print("\nThe ledger's totals", *report.totals_table(Ledger(books.ledger).totals()), sep="\n")
    for kind, title in ((Unclear, "Not understood, nothing booked"), (Failed, "Failed")):
        pairs = zip(messages, replies, strict=True)
        lost = [f"  {report.shown(message)}" for message, reply in pairs if isinstance(reply, kind)]
        if lost and len(messages) > 1:
            print(f"\n{title} ({len(lost)} of {len(messages)})", *lost, sep="\n")


def _progress(text: str) -> None:
    """Show on a terminal what is being worked on; blank text takes it away again."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # Windows pipes are not UTF-8 by themselves
            stream.reconfigure(encoding="utf-8", errors="replace")
    sys.exit(main())
