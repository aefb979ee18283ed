"""What users test their workflows with."""

from .effects import Effects, Happened
from .recording import Recording
from .replay import Replay, ReplayError
from .replies import ScriptError, call, fail, reply, text
from .report import CrashReport, Difference, Repeat
from .script import Request, rules
from .scripted import ScriptedModel
from .sweep import SweepError, crash_sweep
from .traffic import RecordingError

__all__ = [
    "CrashReport",
    "Difference",
    "Effects",
    "Happened",
    "Recording",
    "RecordingError",
    "Repeat",
    "Replay",
    "ReplayError",
    "Request",
    "ScriptError",
    "ScriptedModel",
    "SweepError",
    "call",
    "crash_sweep",
    "fail",
    "reply",
    "rules",
    "text",
]
