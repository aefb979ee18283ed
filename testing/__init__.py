"""What users test their workflows with."""

from .replies import ScriptError, call, fail, reply, text
from .script import Request, rules
from .scripted import ScriptedModel

__all__ = ["Request", "ScriptError", "ScriptedModel", "call", "fail", "reply", "rules", "text"]
