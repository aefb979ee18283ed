"""`plait test`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from ..view.words import count
from .cases import SUFFIX, Verdict, cases_beside, judged, read_cases
from .guard import Usage, guarded
from .options import AsJson
from .status import DONE, FAILED
from .told import as_json, error_console


@guarded
def run_cases(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help=f"Workflows, or their {SUFFIX} files.")
    ],
    only: Annotated[str | None, typer.Option("-k", help="Only cases whose name holds this.")] = None,
    json: AsJson = False,
) -> int:
    """Run the test cases of workflows, with scripted or recorded replies.

    The cases of NAME.yaml lie beside it in NAME.cases.yaml. Exit status 1 when one fails.
    """
    verdicts = [verdict for file in files for verdict in _tested(file, only)]
    if not verdicts:
        raise Usage("there are no such cases")
    output = Console(highlight=False)
    for verdict in verdicts:
        if json:
            print(as_json(_data(verdict)))
        else:
            _print(verdict, output)
    failed = sum(not verdict.passed for verdict in verdicts)
    if not json:
        told = f"{len(verdicts) - failed} passed" + (f", {failed} failed" if failed else "")
        error_console().print(
            f"[{'red' if failed else 'green'}]{told}[/] [dim]of {count(len(verdicts), 'case')}[/]"
        )
    return FAILED if failed else DONE


def _tested(file: str, only: str | None) -> list[Verdict]:
    path = cases_beside(file)
    if not path.is_file():
        raise Usage(f"there are no cases for {file}: {path} is not there")
    plan = read_cases(Path(path), None if file.endswith(SUFFIX) else file)
    chosen = [case for case in plan.cases if only is None or only in case.name]

    async def all_of_them() -> list[Verdict]:
        return [await judged(plan, case) for case in chosen]

    return asyncio.run(all_of_them())


def _print(verdict: Verdict, output: Console) -> None:
    sign = Text("✓ ", "green") if verdict.passed else Text("✗ ", "bold red")
    output.print(sign.append(verdict.case.name, ""), soft_wrap=True)
    for one in verdict.differences:
        output.print(Text(f"    {one.what}", "bold"), soft_wrap=True)
        output.print(Text("      expected  ", "dim").append(as_json(one.expected), "green"), soft_wrap=True)
        output.print(Text("      got       ", "dim").append(_shown(one.got), "red"), soft_wrap=True)


def _shown(got: Any) -> str:
    return got if isinstance(got, str) else as_json(got)


def _data(verdict: Verdict) -> dict[str, Any]:
    found = [{"what": one.what, "expected": one.expected, "got": one.got} for one in verdict.differences]
    return {"case": verdict.case.name, "passed": verdict.passed, "differences": found}
