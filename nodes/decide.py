"""What follows a model's reply: pure decisions that return data.

`after_reply` looks at a new reply; `after_calls` settles its calls once the ordinary ones ran.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ..core.codec import encode
from ..core.errors import ValueRefused
from ..core.outcome import Reason
from ..core.stored import Types
from .answers import parse_json_text, without_thinking
from .calls import Call, Reply, lift_text_calls, stop_reason
from .labels import Labels
from .schema import InvalidOutput, OutputSchema
from .tools import RESOLVE
from .unit import WorkflowUnit
from .unitstate import Counters, Ending

ACCEPTED = "accepted"
"""What the `resolve` call is answered that ends the unit."""

Check = Callable[[Any], str | None]
"""A further condition on a valid output: why it is not accepted, or None."""


@dataclass(frozen=True)
class Rules:
    """What a unit's decisions depend on besides the reply itself."""

    unit: WorkflowUnit[Any]
    schema: OutputSchema[Any]
    tool_names: tuple[str, ...]
    types: Types
    check: Check | None = None
    labels: Labels | None = None
    holding: tuple[str, ...] = ()

    @property
    def callable_names(self) -> tuple[str, ...]:
        """The names a call may use, `resolve` not counted."""
        return tuple(name for name in self.tool_names if name != RESOLVE)


@dataclass(frozen=True, slots=True)
class Step:
    """What the unit does next: messages to add, counters, and the ending if this was the last."""

    messages: tuple[BaseMessage, ...]
    counters: Counters
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one `resolve` call: the plain output, or what is wrong with it."""

    plain: Any = None
    problem: str | None = None


def after_reply(rules: Rules, counters: Counters, reply: Reply) -> Step:
    """Decide on a new reply. `next` is `act` when ordinary calls must run first."""
    stopped = stop_reason(reply.message)
    if reply.cut:
        return _after_cut(rules, counters.but(stop_reason=stopped), reply)
    counters = counters.but(stop_reason=stopped, bad=0)
    lifted = _lifted(rules, reply)
    if lifted is not None:
        reply = lifted
    if not reply.calls:
        return _after_text(rules, counters, reply)
    faults = {call.id: call.error for call in reply.calls if call.error}
    if any(_is_ordinary(rules, call) for call in reply.calls):
        return Step((reply.message,), counters.but(next="act", faults=faults))
    step = after_calls(rules, counters, reply.calls, {}, reply.text)
    return replace(step, messages=(reply.message, *step.messages))


def after_calls(
    rules: Rules,
    counters: Counters,
    calls: Sequence[Call],
    results: Mapping[str, ToolMessage],
    text: str = "",
) -> Step:
    """Answer every call of a reply: `results` for the ordinary ones, `resolve` by the contract."""
    verdicts = {call.id: judge(rules, call) for call in calls if call.name == RESOLVE}
    answers = {
        call.id: results.get(call.id) or _refusal(rules, call) for call in calls if call.name != RESOLVE
    }
    failed = [call.name for call in calls if call.id in answers and answers[call.id].status == "error"]
    held = [call.name for call in calls if call.name in rules.holding and call.name not in failed]
    answers |= _resolve_answers(calls, verdicts, failed, held)
    messages = tuple(answers[call.id] for call in calls)
    counters = counters.but(next="think", faults={})
    return _settled(rules, counters, messages, verdicts, [*failed, *held], text)


def _settled(
    rules: Rules,
    counters: Counters,
    messages: tuple[BaseMessage, ...],
    verdicts: Mapping[str, Verdict],
    failed: Sequence[str],
    text: str,
) -> Step:
    valid = [verdict for verdict in verdicts.values() if verdict.problem is None]
    if valid and not failed:
        return Step(messages, counters.but(next="end"), done(valid[0].plain, text))
    if valid or not verdicts:
        return Step(messages, counters)
    counters = counters.but(invalid=counters.invalid + 1)
    if counters.invalid < rules.unit.resolve_attempts:
        return Step(messages, counters)
    problem = next(iter(verdicts.values())).problem or ""
    told = f"resolve was called with invalid arguments {counters.invalid} times; the last time: {problem}"
    return Step(messages, counters.but(next="end"), failure("invalid-resolve", told, text))


def judge(rules: Rules, call: Call) -> Verdict:
    """Whether a `resolve` call gives a valid output."""
    if call.error:
        return Verdict(problem=call.error)
    try:
        args = rules.labels.arguments(call.args) if rules.labels else call.args
        value = rules.schema.validate(args)
        refused = (rules.labels and rules.labels.fault(args)) or (rules.check(value) if rules.check else None)
        return Verdict(problem=refused) if refused else Verdict(encode(value, RESOLVE, rules.types))
    except (InvalidOutput, ValueRefused) as error:
        return Verdict(problem=str(error))


def _resolve_answers(
    calls: Sequence[Call], verdicts: Mapping[str, Verdict], failed: Sequence[str], held: Sequence[str]
) -> dict[str, ToolMessage]:
    answers: dict[str, ToolMessage] = {}
    accepted = False
    for call in calls:
        if call.id not in verdicts:
            continue
        problem = verdicts[call.id].problem
        if accepted:
            answers[call.id] = answer(call, "not used: another resolve of this reply was accepted")
        elif problem is not None:
            answers[call.id] = answer(
                call, f"resolve: {problem}. Correct it and call resolve again.", error=True
            )
        elif failed:
            names = ", ".join(dict.fromkeys(failed))
            told = f"not accepted, {names} failed; see its result, then call resolve again"
            answers[call.id] = answer(call, told, error=True)
        elif held:
            names = ", ".join(dict.fromkeys(held))
            told = f"not accepted yet: read what {names} answered, then call resolve again"
            answers[call.id] = answer(call, told, error=True)
        else:
            accepted = True
            answers[call.id] = answer(call, ACCEPTED)
    return answers


def _refusal(rules: Rules, call: Call) -> ToolMessage:
    if call.error:
        return answer(call, f"{call.name} was not run: {call.error}", error=True)
    offered = ", ".join(rules.tool_names) or "none"
    return answer(call, f"there is no tool {call.name!r}; the tools are: {offered}", error=True)


def answer(call: Call, content: str, *, error: bool = False) -> ToolMessage:
    """The tool message that answers `call`; its id follows from the call's."""
    status = "error" if error else "success"
    return ToolMessage(content, tool_call_id=call.id, name=call.name, status=status, id=f"{call.id}:answer")


def _is_ordinary(rules: Rules, call: Call) -> bool:
    return call.error is None and call.name in rules.callable_names


def _after_cut(rules: Rules, counters: Counters, reply: Reply) -> Step:
    length = reply.cut == "length"
    why = "your reply hit the output limit" if length else "your reply broke off"
    told = f"{why}, so nothing of it was executed. Answer again, in less text or fewer calls."
    if reply.calls:
        answers: tuple[BaseMessage, ...] = (
            reply.message,
            *(answer(c, f"not run: {told}", error=True) for c in reply.calls),
        )
    else:
        answers = (*_kept(reply), reminder(told))
    counters = counters.but(bad=counters.bad + 1, next="think")
    if counters.bad < rules.unit.reply_attempts:
        return Step(answers, counters)
    reason: Reason = "output-limit" if length else "bad-model-reply"
    message = f"{why} {counters.bad} times in a row"
    return Step(answers, counters.but(next="end"), failure(reason, message, reply.text))


def _after_text(rules: Rules, counters: Counters, reply: Reply) -> Step:
    unit, text = rules.unit, reply.text
    if text and unit.answer == "text" and rules.labels is None:
        return Step((reply.message,), counters.but(next="end"), done(text, text))
    if text and unit.accept_json_text and (plain := _json_answer(rules, text)) is not None:
        return Step((reply.message,), counters.but(next="end"), done(plain.plain, text))
    if (label := _label_answer(rules, text)) is not None:
        return Step((reply.message,), counters.but(next="end"), done(label.plain, text))
    if text and _is_written(rules):
        return _after_written(rules, counters, reply)
    counters = counters.but(reminders=counters.reminders + 1, next="think")
    if counters.reminders <= unit.reminders:
        return Step((*_kept(reply), reminder(_reminder_text(rules, text))), counters)
    reason: Reason = "no-resolve" if text else "empty-reply"
    told = "the model wrote text and never called resolve" if text else "the model's replies were blank"
    return Step(
        _kept(reply),
        counters.but(next="end"),
        failure(reason, f"{told}: {text[:500]!r}" if text else told, text),
    )


def _is_written(rules: Rules) -> bool:
    """Whether the output is asked for as text, since `resolve` is not offered."""
    return rules.unit.answer != "text" and RESOLVE not in rules.tool_names


def _after_written(rules: Rules, counters: Counters, reply: Reply) -> Step:
    """A reply that is to be the output itself counts as a `resolve` call would."""
    verdict = _written_answer(rules, reply.text)
    if verdict.problem is None:
        return Step((reply.message,), counters.but(next="end"), done(verdict.plain, reply.text))
    counters = counters.but(invalid=counters.invalid + 1, next="think")
    if counters.invalid < rules.unit.resolve_attempts:
        told = f"That is not the result: {verdict.problem}. Correct it and answer again with the JSON object."
        return Step((reply.message, reminder(told)), counters)
    told = f"the reply was not a valid result {counters.invalid} times; the last time: {verdict.problem}"
    ending = failure("invalid-resolve", told, reply.text)
    return Step((reply.message,), counters.but(next="end"), ending)


def _written_answer(rules: Rules, text: str) -> Verdict:
    found = parse_json_text(text)
    candidates = [one for one in found if isinstance(one, dict)]
    if rules.schema.wrapped:
        plain = [*(one for one in found if not isinstance(one, dict)), without_thinking(text).strip()]
        candidates += [{rules.schema.wrap_key: one} for one in plain]
    verdicts = [judge(rules, Call("text", RESOLVE, candidate, None)) for candidate in candidates]
    good = next((verdict for verdict in verdicts if verdict.problem is None), None)
    return good or next(iter(verdicts), Verdict(problem="it holds no JSON object"))


def _reminder_text(rules: Rules, text: str) -> str:
    if rules.unit.answer == "text":
        named = (
            f"Answer with one of: {', '.join(rules.labels.names)}." if rules.labels else "Write your answer."
        )
        return f"{'That names none of the labels' if text else 'Your last reply was empty'}. {named}"
    if _is_written(rules):
        return "Your last reply was empty. Answer with one JSON object that fits the schema."
    seen = "That was text only" if text else "Your last reply was empty"
    return f"{seen}. Call a tool, or call `{RESOLVE}` with the final result to end."


def _kept(reply: Reply) -> tuple[BaseMessage, ...]:
    """The reply as history, unless it is blank: a blank message is never sent back."""
    return (reply.message,) if reply.text or reply.calls else ()


def _label_answer(rules: Rules, text: str) -> Verdict | None:
    args = rules.labels.text(text) if rules.labels and text else None
    verdict = judge(rules, Call("text", RESOLVE, args, None)) if args else None
    return verdict if verdict and verdict.problem is None else None


def _json_answer(rules: Rules, text: str) -> Verdict | None:
    for candidate in parse_json_text(text):
        if isinstance(candidate, dict):
            verdict = judge(rules, Call("text", RESOLVE, candidate, None))
            if verdict.problem is None:
                return verdict
    return None


def _lifted(rules: Rules, reply: Reply) -> Reply | None:
    if reply.calls or not reply.text or not rules.unit.lift_text_calls:
        return None
    written = lift_text_calls(reply.text, (*rules.callable_names, RESOLVE))
    if not written:
        return None
    base = reply.message.id or "lifted"
    calls = tuple(Call(f"{base}:{n}", name, dict(args), None) for n, (name, args) in enumerate(written))
    asked = [{"id": call.id, "name": call.name, "args": call.args, "type": "tool_call"} for call in calls]
    message = AIMessage(
        "", id=reply.message.id, tool_calls=asked, usage_metadata=reply.message.usage_metadata
    )
    return replace(reply, message=message, calls=calls, text="")


def reminder(text: str) -> HumanMessage:
    """A message of the framework to the model, marked as such in its metadata."""
    return HumanMessage(text, additional_kwargs={"plait": "reminder"})


def done(plain: Any, text: str = "") -> Ending:
    return Ending("done", text=text, has_value=True, value=plain)


def failure(reason: Reason, message: str, text: str = "") -> Ending:
    return Ending("failed", reason, message, text)
