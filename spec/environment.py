"""`${NAME}` and `${NAME:-default}` in values; `$${` is a `${` that stands for itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MARK = re.compile(
    r"(?P<escaped>\$\$\{)|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|\$\{"
)


class Unset(ValueError):
    """A text that names a variable which is not set, or holds a `${` that names none."""


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """`text` with its variables filled in. Raises Unset.

    >>> substituted("${HOST:-localhost}:${PORT} $${kept}", {"PORT": "80"})
    'localhost:80 ${kept}'
    """

    def value(mark: re.Match[str]) -> str:
        if mark["escaped"]:
            return "${"
        name, default = mark["name"], mark["default"]
        if name is None:
            raise Unset(
                f"{text[mark.start() : mark.start() + 20]!r} names no variable; write $${{ for a plain ${{"
            )
        if default is not None and "{" in default:
            raise Unset(f"the default of ${{{name}}} holds a brace, which no default may; set {name} instead")
        found = variables.get(name) or default if default is not None else variables.get(name)
        if found is None:
            raise Unset(f"the environment variable {name} is not set; set it, or write ${{{name}:-default}}")
        return found

    return _MARK.sub(value, text) if "${" in text else text


def escaped(text: str) -> str:
    """`text` such that `substituted` gives it back."""
    return text.replace("${", "$${")
