"""The command line of an example that answers one task."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plait import PlaitError, RunResult, Workflow
from plait.examples.models import chosen_model

EPILOG = "With OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) a real model does the work."


@dataclass(frozen=True)
class Command:
    """What such a command needs: what it is called and takes, its workflow, and how it prints a result."""

    name: str
    description: str
    argument: str
    demo: str
    scripted: Callable[[], Any]
    workflow: Callable[[Any], Workflow]
    show: Callable[[RunResult], None]

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command and return its exit status."""
        parser = argparse.ArgumentParser(prog=self.name, description=self.description, epilog=EPILOG)
        parser.add_argument(self.argument, nargs="?", default=self.demo, help=f"(default: {self.demo})")
        parser.add_argument("--demo", action="store_true", help=f"the default {self.argument}")
        args = parser.parse_args(argv)
        task = self.demo if args.demo else getattr(args, self.argument)
        model, notice = chosen_model(self.scripted)
        print(notice, flush=True)
        try:
            result = asyncio.run(self.workflow(model).run(task))
        except PlaitError as error:
            print(f"No answer: {error}", file=sys.stderr)
            return 1
        self.show(result)
        return 0
