"""The embedded model: it looks up what the question names, reads the best document and quotes it.

It plays the same role in three ways, by what it is offered: tool calls, the text protocol, plain answers.
"""

from __future__ import annotations

import json
import re
from typing import Any

from plait.testing import Request, ScriptedModel, call, text

_ABOUT_SCRIPTS = re.compile(
    r"\b(script|run|start|build|test|command|make|install)\w*\b|怎么(运行|测试|启动)|命令", re.I
)
_COMMON = frozenset(
    """the and for are is what how does do can you this that project with which where who when why about into
    from has have was were it its of to in on a an i my me we our tell say says please""".split()  # noqa: SIM905
)
_HIT = re.compile(r"^(?P<path>[^\n:]+):(?P<line>\d+): (?P<text>.*)$", re.M)


def scripted_model() -> ScriptedModel:
    """A model that needs no key and answers the same question about the same folder the same way."""
    return ScriptedModel(_answer)


def _answer(request: Request) -> Any:
    question, seen = request.first_user, _results(request)
    if not seen:
        if _ABOUT_SCRIPTS.search(question):
            return _calls(request, "read_package_script", name="")
        return _calls(request, "search_docs", query=_keywords(question))
    tool, result = seen[-1]
    if tool == "read_package_script" and len(seen) == 1:
        named = [name for name in result.splitlines() if re.search(rf"\b{re.escape(name)}\b", question)]
        if named:
            return _calls(request, "read_package_script", name=named[0])
        return _calls(request, "search_docs", query=_keywords(question))
    hits = [_HIT.search(shown) for name, shown in seen if name == "search_docs"]
    if tool == "search_docs" and hits[-1]:
        start = max(1, int(hits[-1]["line"]) - 2)
        return _calls(request, "read_doc", path=hits[-1]["path"], start=start)
    return _ends(request, seen, next((hit for hit in hits if hit), None))


def _ends(request: Request, seen: list[tuple[str, str]], hit: re.Match[str] | None) -> Any:
    tool, result = seen[-1]
    if tool == "read_doc" and hit is not None:
        excerpt = " ".join(result.split())[:300]
        return _says(request, f"{hit['path']} says: {excerpt}", [hit["path"]])
    if tool == "read_package_script" and ": " in result:
        return _says(request, f"The script {result}", [])
    scripts = next((shown for name, shown in seen if name == "read_package_script"), "")
    if scripts:
        return _says(request, f"The project's scripts are: {', '.join(scripts.splitlines())}.", [])
    return _says(request, "The project's documents say nothing about that.", [])


def _results(request: Request) -> list[tuple[str, str]]:
    """What the tools gave so far, by tool; in the text protocol it stands in observations."""
    if request.tools:
        return [(str(m.name), str(m.text)) for m in request.messages if m.type == "tool"]
    said = [str(m.text) for m in request.messages if m.type == "human"]
    found = [re.match(r"Observation from (\w+)[^\n]*:\n(.*)", one, re.S) for one in said]
    return [(match[1], match[2]) for match in found if match]


def _keywords(question: str) -> str:
    words = re.findall(r"\w+", question)
    return " ".join(word for word in words if word.casefold() not in _COMMON) or question


def _calls(request: Request, tool: str, **args: Any) -> Any:
    if request.tools:
        return call(tool, args)
    return text(
        f"Need: look into the project.\nAction: {tool}\nAction Input: {json.dumps(args, ensure_ascii=False)}"
    )


def _says(request: Request, answer: str, sources: list[str]) -> Any:
    if "resolve" in request.tools:
        return call("resolve", answer=answer, sources=sources)
    if request.tools or "Final Answer: the answer, as text" in request.system:
        return text(answer if request.tools else f"Final Answer: {answer}")
    found = json.dumps({"answer": answer, "sources": sources}, ensure_ascii=False)
    return text(f"Final Answer: {found}")
