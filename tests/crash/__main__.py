"""`make crash`: a sweep over every kind of flow and over the code review.

Prints what each workflow comes to and the sum; fails when it is not safe, or had too few boundaries.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from plait.testing import CrashReport

from .workflows import cases

FEWEST = 1000


def main() -> int:
    """Run the sweep and return the exit status."""
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument(
        "--seeds", type=int, default=0, help="drawn flows of each kind, beside the plain ones"
    )
    parser.add_argument("--every", type=int, default=2, help="try each n-th boundary only")
    args = parser.parse_args()
    total = CrashReport()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder), args.seeds):
            report = case.sweep(every=args.every)
            total += report
            told = "" if report.is_safe else f"\n{report}"
            print(f"{case.name}: {report.points} points in {report.seconds:.0f} s{told}", flush=True)
    print(f"\n{total}\nseconds: {total.seconds:.0f}")
    return 0 if total.is_safe and total.points >= (FEWEST if args.every <= 2 else 1) else 1


if __name__ == "__main__":
    sys.exit(main())
