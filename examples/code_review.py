"""Review a change: `git diff main > change.diff; python -m plait.examples.code_review change.diff --repo .`.

The workflow itself is in `review/units.py`; this is its command line.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from plait import PlaitError, RunResult, Workflow
from plait.examples.models import chosen_model
from plait.examples.review import report
from plait.examples.review.diff import numbered, read_diff
from plait.examples.review.repository import Repository
from plait.examples.review.scripted import scripted_model
from plait.examples.review.units import code_review, review_workflow

DATA = Path(__file__).parent / "data"
DEMO_DIFF, DEMO_REPOSITORY = DATA / "review.diff", DATA / "review_repository.diff"
MOST_CHARACTERS = 200_000

EPILOG = """With OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) a real model does the work.
Exit status: 0 when the change was reviewed, 1 when the review failed, 2 for wrong usage."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.draw:
        print(code_review.draw().mermaid, end="")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            task = _task(args)
            repository = _repository(args, Path(folder))
            model, notice = chosen_model(scripted_model)
        except (PlaitError, ValueError, OSError) as error:
            parser.error(str(error))
        print(notice, flush=True)
        return asyncio.run(_reviewed(review_workflow(model), task, repository))


def unpack(diff: str, folder: Path) -> None:
    """Write the files that a diff adds below `folder`."""
    for change in read_diff(diff):
        path = folder / change.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line.text}\n" for line in change.added), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="code_review",
        description="Review a change, given as a unified diff.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("diff", nargs="?", help="the diff's file, or - for standard input")
    parser.add_argument(
        "--repo", type=Path, help="the repository after the change; nothing outside it is read"
    )
    parser.add_argument("--demo", action="store_true", help="the shipped diff and its small repository")
    parser.add_argument("--draw", action="store_true", help="print the workflow as Mermaid and end")
    return parser


def _task(args: argparse.Namespace) -> str:
    if bool(args.diff) == args.demo:
        raise ValueError("give one of: the file of a diff, - for standard input, --demo")
    source = DEMO_DIFF if args.demo else Path(args.diff)
    text = sys.stdin.read() if args.diff == "-" else source.read_text(encoding="utf-8", errors="replace")
    task = numbered(read_diff(text))
    if len(task) > MOST_CHARACTERS:
        raise ValueError(
            f"the diff has {len(task)} characters; at most {MOST_CHARACTERS} are reviewed at a time"
        )
    return task


def _repository(args: argparse.Namespace, folder: Path) -> Repository | None:
    if args.demo:
        unpack(DEMO_REPOSITORY.read_text(encoding="utf-8"), folder)
        return Repository(folder)
    if args.repo and not args.repo.is_dir():
        raise ValueError(f"{args.repo} is no folder")
    return Repository(args.repo) if args.repo else None


async def _reviewed(workflow: Workflow, task: str, repository: Repository | None) -> int:
    result: RunResult | None = None
    async for event in workflow.stream(task, context=repository, types={"agent_end"}):
        if line := report.progress(event):
            print(line, flush=True)
        result = event.result or result
    if result is None or result.outcome not in ("done", "partial"):
        told = result.error() if result else "the run was stopped"
        print(f"No review: {told}", file=sys.stderr)
        return 1
    print(*report.lines(result), sep="\n")
    return 0


if __name__ == "__main__":
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # Windows pipes are not UTF-8 by themselves
            stream.reconfigure(encoding="utf-8", errors="replace")
    sys.exit(main())
