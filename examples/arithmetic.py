"""Arithmetic that is safe to do on request: numbers, names, + - * / **, and a few functions."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

LONGEST = 200
LARGEST = 1e100
HIGHEST_POWER = 64

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "max": max, "min": min, "round": round, "sqrt": math.sqrt,
}  # fmt: skip


def evaluate(formula: str, values: Mapping[str, float] | None = None) -> float:
    """The number that a formula comes to. Raises ValueError that says what cannot be computed.

    >>> evaluate("weight / height ** 2", {"weight": 80, "height": 2})
    20.0
    """
    if len(formula) > LONGEST:
        raise ValueError(f"the formula is longer than {LONGEST} characters")
    try:
        tree = ast.parse(formula.strip(), mode="eval")
        return float(_checked(_value(tree.body, values or {})))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{formula!r} is no formula") from error
    except (ArithmeticError, TypeError) as error:
        raise ValueError(f"{formula!r} cannot be computed: {error}") from error


def _value(node: ast.expr, values: Mapping[str, float]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _checked(number)
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name):
            raise ValueError(f"{name} has no value; there are: {', '.join(values) or 'none'}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _combined(type(op), _value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, values) for arg in args))
    raise ValueError(f"{ast.unparse(node)!r} is not allowed in a formula")


def _combined(op: type[ast.operator], left: Any, right: Any) -> Any:
    if op is ast.Pow and abs(right) > HIGHEST_POWER:
        raise ValueError(f"the power {right} is higher than {HIGHEST_POWER}")
    return _checked(_BINARY[op](left, right))


def _checked(number: Any) -> Any:
    if isinstance(number, complex) or not abs(number) < LARGEST:
        raise ValueError("a number is too large, or none at all")
    return number


def written(number: float) -> str:
    """A number without a tail of zeros, six digits after the point at most.

    >>> written(20.0), written(1 / 3)
    ('20', '0.333333')
    """
    return f"{number:.6f}".rstrip("0").rstrip(".")
