"""What comes back from a store is LangGraph's own types and the definition's classes, and nothing else,
whatever the environment says."""

import pickle
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from plait import DefinitionError, Workflow, step
from plait.adapters.journals import sqlite_journal
from plait.adapters.stores import strictly
from plait.core.ports import JournalEntry

ONE_ARGUMENT, KEYWORDS, METHOD = 0, 2, 3
"""LangGraph's msgpack extensions: a class and its argument, a class and its keywords, a method's call."""

TRAP = """
class Trap:
    def __init__(self, *given, **named):
        open({mark!r}, "w").close()
open({mark!r}, "w").close()
"""


@dataclass
class Listed:
    ink: str


@dataclass
class Own:
    ink: str


def smuggled(code: int, *told: Any) -> Any:
    return ormsgpack.Ext(code, ormsgpack.packb(told))


FOREIGN = [
    smuggled(ONE_ARGUMENT, "foreign", "Trap", "bait"),
    smuggled(KEYWORDS, "foreign", "Trap", {"bait": 1}),
    smuggled(METHOD, "foreign", "Trap", "bait", "mro"),
]
TAMPERED = ormsgpack.packb(FOREIGN)
HARMLESS = ["bait", {"bait": 1}, "bait"]


async def tamper(file: Path) -> None:
    """Put foreign values into the last checkpoint, its writes, and the journal of a thread."""
    async with sqlite_journal(str(file)) as journal:
        await journal.write("t", {"k": JournalEntry("done", "digest", "as it was")})
    with sqlite3.connect(file) as opened:
        latest = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = 't' AND checkpoint_ns = ''"
        ((id, blob),) = opened.execute(
            f"SELECT checkpoint_id, checkpoint FROM checkpoints WHERE checkpoint_id = ({latest})"
        )
        checkpoint = ormsgpack.unpackb(blob, ext_hook=ormsgpack.Ext, option=ormsgpack.OPT_NON_STR_KEYS)
        checkpoint["channel_values"]["smuggled"] = FOREIGN
        changed = ormsgpack.packb(checkpoint, option=ormsgpack.OPT_NON_STR_KEYS)
        opened.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (changed, id))
        row = ("t", "", id, "task", 0, "smuggled", "msgpack", TAMPERED)
        opened.execute(
            "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        opened.execute("UPDATE plait_journal SET result = ?", (TAMPERED,))
        opened.execute(
            "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)"
            " VALUES ('pickled', '', '1', 'pickle', ?, '{}')",
            (pickle.dumps({"channel_values": {}}),),
        )
    opened.close()


@pytest.mark.parametrize("how", ["url", "given"])
async def test_a_foreign_class_in_a_file_is_neither_imported_nor_made(
    program: Any, tmp_path: Path, how: str
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "foreign.py").write_text(TRAP.format(mark=str(mark)))
    file = tmp_path / "runs.db"
    await Workflow(step(lambda _: "done", id="one"), checkpointer=f"sqlite:///{file}").run(
        "go", thread_id="t"
    )
    await tamper(file)
    told = program("tampered", str(file), str(tmp_path / "modules"), how)
    assert told["value"] == told["journaled"] == HARMLESS
    assert told["written"] == [HARMLESS]
    assert "Unknown serialization type: pickle" in told["pickle"]
    assert told["output"] == "done"
    assert told["imported"] == []
    assert not mark.exists()


LISTED = (Listed.__module__, "Listed")


@pytest.mark.parametrize(
    "given",
    [
        JsonPlusSerializer(allowed_msgpack_modules=True, pickle_fallback=True),
        JsonPlusSerializer(allowed_msgpack_modules=True, allowed_json_modules=True),
        JsonPlusSerializer(allowed_msgpack_modules=None),
    ],
    ids=["permissive", "json", "strict"],
)
def test_a_given_serializer_gives_back_listed_classes_only(given: Any) -> None:
    serde = strictly(given, [LISTED])
    assert serde.loads_typed(given.dumps_typed([Listed("red"), Own("blue")])) == [
        Listed("red"),
        {"ink": "blue"},
    ]
    with pytest.raises(NotImplementedError):
        serde.loads_typed(("pickle", pickle.dumps("text")))
    with pytest.raises(TypeError):
        serde.dumps_typed(lambda: None)


def test_a_given_serializer_is_left_as_it_is() -> None:
    given = JsonPlusSerializer(allowed_msgpack_modules=True)
    strictly(given, [LISTED])
    assert given.loads_typed(given.dumps_typed(Own("blue"))) == Own("blue")


def test_what_a_given_serializer_lists_itself_comes_back_too() -> None:
    given = JsonPlusSerializer(allowed_msgpack_modules=[Own])
    serde = strictly(given, [LISTED])
    assert serde.loads_typed(given.dumps_typed([Listed("red"), Own("blue")])) == [Listed("red"), Own("blue")]


class Reversing:
    """A cipher that anybody can break."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversed", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


def test_a_serializer_within_a_serializer_is_made_strict() -> None:
    given = EncryptedSerializer(Reversing(), JsonPlusSerializer(allowed_msgpack_modules=True))
    serde = strictly(given, [])
    assert serde.loads_typed(given.dumps_typed(Own("blue"))) == {"ink": "blue"}
    assert given.loads_typed(given.dumps_typed(Own("blue"))) == Own("blue")


class Pickling:
    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "pickle", pickle.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return pickle.loads(data[1])


def test_a_serializer_that_cannot_be_made_strict_is_refused_before_anything_runs() -> None:
    saver = InMemorySaver(serde=Pickling())
    with pytest.raises(DefinitionError, match="Pickling cannot be limited to known classes"):
        Workflow(step(lambda _: "done", id="one"), checkpointer=saver)
