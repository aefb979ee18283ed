"""Encrypted threads: nothing readable lies in the store, and what does not fit the key and the thread is
refused and left as it was."""

import logging
import pickle
import sqlite3
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from plait import (
    DefinitionError,
    EncryptionMismatch,
    MissingExtra,
    PlaitError,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.adapters.encrypted import EncryptedJournal
from plait.adapters.encryption import Cipher
from plait.adapters.journals import postgres_journal, sqlite_journal
from plait.core.ports import Journal, JournalEntry
from plait.nodes.inbox import inbox_namespace
from plait.testing import ScriptedModel, call, text

SECRET = "swordfish"
KEY, OTHER = b"k" * 32, b"o" * 32
UNFIT = "was encrypted with another key, changed, or copied from elsewhere"
PLAIN = "is not encrypted, but an encryption_key was given"
SEALED = "is encrypted, but no encryption_key was given"


class Database:
    """The rows of a SQLite file or a Postgres database, as somebody with access sees them."""

    def __init__(self, url: str) -> None:
        self.path = url.removeprefix("sqlite:///") if url.startswith("sqlite") else None
        self.opened: Any = (
            sqlite3.connect(self.path, isolation_level=None)
            if self.path
            else psycopg.connect(url, autocommit=True)
        )

    def rows(self, statement: str, *values: Any) -> list[Any]:
        cursor = self.opened.execute(statement if self.path else statement.replace("?", "%s"), values)
        return list(cursor) if cursor.description else []

    def tables(self) -> list[str]:
        catalog = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        if self.path:
            catalog = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"
        return [name for (name,) in self.rows(catalog)]

    def raw(self) -> bytes:
        """All that is stored, the pages of a file included."""
        told = repr([(table, self.rows(f"SELECT * FROM {table}")) for table in self.tables()]).encode()
        beside = [] if self.path is None else sorted(Path(self.path).parent.glob("*"))
        return b"".join([told, *(file.read_bytes() for file in beside if file.is_file())])

    def threads(self) -> list[Any]:
        """What is stored of threads."""
        kept = ("checkpoints", "writes", "checkpoint_blobs", "checkpoint_writes", "plait_journal")
        return [(table, self.rows(f"SELECT * FROM {table}")) for table in self.tables() if table in kept]


@pytest.fixture
def database(lasting_url: str) -> Any:
    opened: list[Database] = []

    def look() -> Database:
        opened.append(Database(lasting_url))
        return opened[-1]

    yield look
    for each in opened:
        each.opened.close()


def note(runtime: ToolRuntime, words: str) -> str:
    """Note something down."""
    runtime.shared.set("noted", f"{SECRET} {words}")
    return f"noted {SECRET}"


def ask(runtime: ToolRuntime) -> str:
    """Ask the user."""
    return str(runtime.ask(f"is it {SECRET}?"))


def secretive(url: Any, key: Any = KEY, **options: Any) -> Workflow[Any]:
    """A step that gives the secret, and a unit that notes it, asks about it and says it."""
    unit = WorkflowUnit("unit", prompt="Keep it.", output=str, answer="text", tools=[note, ask])
    script = [call("note", words=SECRET), call("ask"), *[text(f"It is {SECRET}.")] * 3]
    flow = step(lambda _: SECRET, id="first") >> unit
    return Workflow(
        flow, model=ScriptedModel({"unit": script}), checkpointer=url, encryption_key=key, **options
    )


async def paused(url: Any, key: Any = KEY, thread: str = "t") -> None:
    """A thread with everything in it: state, transcripts, a journal, a question, a message, events."""
    workflow = secretive(url, key)
    assert (await workflow.run(f"It is {SECRET}.", thread_id=thread)).outcome == "paused"
    await workflow.steer(thread, "unit", f"Think of {SECRET}.")


READS: list[Callable[[Workflow[Any]], Awaitable[Any]]] = [
    lambda workflow: workflow.run("again", thread_id="t", abandon=True),
    lambda workflow: workflow.resume("t", "yes"),
    lambda workflow: workflow.get_state("t"),
    lambda workflow: workflow.thread("t").result(),
    lambda workflow: workflow.thread("t").interrupts(),
    lambda workflow: workflow.thread("t").history(),
    lambda workflow: workflow.thread("t").fork(),
    lambda workflow: told(workflow),
]
"""What may be done with a thread."""


async def told(workflow: Workflow[Any]) -> list[Any]:
    return [event async for event in workflow.thread("t").events()]


async def test_nothing_readable_lies_in_the_store(lasting_url: str, database: Any) -> None:
    await paused(lasting_url)
    assert (await secretive(lasting_url).resume("t", f"Yes, {SECRET}.")).output == f"It is {SECRET}."
    raw = database().raw()
    assert raw.count(b"plait_journal") > 0
    for form in (SECRET.encode(), SECRET.encode().hex().encode(), b64encode(SECRET.encode())[:-2]):
        assert form not in raw


async def test_without_a_key_it_does_lie_there(lasting_url: str, database: Any) -> None:
    await paused(lasting_url, None)
    assert SECRET.encode() in database().raw()


async def test_an_encrypted_thread_is_all_that_a_thread_is(saver_url: Any) -> None:
    await paused(saver_url)
    workflow, thread = secretive(saver_url), secretive(saver_url).thread("t")
    (question,) = await thread.interrupts()
    assert question.question == f"is it {SECRET}?"
    assert (await workflow.resume("t", "yes")).output == f"It is {SECRET}."
    assert (await thread.result()).output == f"It is {SECRET}."
    assert await thread.state() == {"noted": f"{SECRET} {SECRET}"}
    forked = await thread.fork("unit", thread_id="forked")
    assert (await workflow.resume("forked", "yes")).output == f"It is {SECRET}."
    assert len(await thread.history()) >= len(await forked.history()) > 1
    assert [event.type for event in await told(workflow)][-1] == "agent_end"


@pytest.mark.parametrize(
    ("written", "given", "why"),
    [(KEY, OTHER, UNFIT), (KEY, None, SEALED), (None, KEY, PLAIN)],
    ids=["another key", "no key", "a key too many"],
)
async def test_a_thread_opens_with_its_own_key_only(
    lasting_url: str, database: Any, written: Any, given: Any, why: str
) -> None:
    await paused(lasting_url, written)
    before = database().threads()
    for read in READS:
        with pytest.raises(EncryptionMismatch, match=f"thread 't': what is stored for it {why}") as raised:
            await read(secretive(lasting_url, given))
        assert raised.value.thread_id == "t"
        assert "use the encryption_key that the thread was begun with" in str(raised.value)
    assert database().threads() == before
    assert (await secretive(lasting_url, written).resume("t", "yes")).output == f"It is {SECRET}."


async def test_rows_that_are_copied_to_another_thread_are_refused(lasting_url: str, database: Any) -> None:
    await paused(lasting_url, thread="mallory")
    await paused(lasting_url, thread="t")
    rows = database()
    for table, _ in rows.threads():
        rows.rows(f"DELETE FROM {table} WHERE thread_id = 'mallory'")
        rows.rows(f"UPDATE {table} SET thread_id = 'mallory' WHERE thread_id = 't'")
    with pytest.raises(EncryptionMismatch, match=f"thread 'mallory': .*{UNFIT}"):
        await secretive(lasting_url).thread("mallory").result()
    with pytest.raises(EncryptionMismatch, match=f"thread 'mallory': .*{UNFIT}"):
        await secretive(lasting_url).resume("mallory", "yes")


async def read_all(workflow: Workflow[Any]) -> None:
    await workflow.thread("t").history()
    await workflow.thread("t").result()


async def test_a_changed_byte_is_found_wherever_it_is(tmp_path: Path) -> None:
    """In each byte of the newest checkpoint of the root, and in some of every other row."""
    url = f"sqlite:///{tmp_path}/runs.db"
    await paused(url)
    rows = Database(url)
    newest = rows.rows("SELECT max(rowid) FROM checkpoints WHERE checkpoint_ns = ''")[0][0]
    async with secretive(url) as workflow:
        for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
            for row, kept in rows.rows(f"SELECT rowid, {column} FROM {table}"):
                places = range(len(kept)) if (table, row) == ("checkpoints", newest) else (0, len(kept) // 2)
                for place in places:
                    changed = kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :]
                    rows.rows(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed, row)
                    with pytest.raises(EncryptionMismatch, match="thread 't'"):
                        await read_one(workflow, table, row, rows)
                rows.rows(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", kept, row)
        await read_all(workflow)
    rows.opened.close()


async def read_one(workflow: Workflow[Any], table: str, row: int, rows: Database) -> None:
    """Read the checkpoint that a row belongs to."""
    named = "thread_id, checkpoint_ns, checkpoint_id"
    thread, namespace, checkpoint = rows.rows(f"SELECT {named} FROM {table} WHERE rowid = ?", row)[0]
    which = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
    async with workflow.drive("t") as drive:
        await drive.graph.checkpointer.aget_tuple({"configurable": which})


CHANGES = {
    "a value for another": "UPDATE {blobs} SET {value} = (SELECT max({value}) FROM {blobs})",
    "a plain value": "UPDATE {blobs} SET {value} = 'plain'",
    "another parent": "UPDATE checkpoints SET parent_checkpoint_id = checkpoint_id",
    "another namespace": "UPDATE {blobs} SET checkpoint_ns = 'x'; UPDATE checkpoints SET checkpoint_ns = 'x'",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_rows_that_change_places_are_refused(lasting_url: str, database: Any, change: str) -> None:
    await Workflow(step(lambda _: SECRET, id="first"), checkpointer=lasting_url, encryption_key=KEY).run(
        "go", thread_id="t"
    )
    rows = database()
    blobs, value = ("writes", "value") if rows.path else ("checkpoint_blobs", "blob")
    for statement in change.format(blobs=blobs, value=value).split(";"):
        rows.rows(statement)
    saved = rows.rows("SELECT checkpoint_ns, checkpoint_id FROM checkpoints ORDER BY 2 DESC")
    async with secretive(lasting_url).drive("t") as drive:
        with pytest.raises(EncryptionMismatch, match="thread 't'"):
            await each_of(drive.graph.checkpointer, saved)


async def each_of(saver: Any, saved: list[Any]) -> None:
    for namespace, checkpoint in saved:
        which = {"thread_id": "t", "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        await saver.aget_tuple({"configurable": which})


def journal_of(url: str) -> AbstractAsyncContextManager[Journal]:
    path = url.removeprefix("sqlite:///")
    return sqlite_journal(path) if path != url else postgres_journal(url)


ENTRY = JournalEntry("started", "digest", {"answer": SECRET})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE plait_journal SET state = 'done'", UNFIT),
        ("UPDATE plait_journal SET key = 'k' WHERE key = 'other'", UNFIT),
        ("UPDATE plait_journal SET thread_id = 't' WHERE thread_id = 'mallory'", UNFIT),
        ("UPDATE plait_journal SET kind = 'null', result = ''", PLAIN),
    ],
    ids=["state", "key", "thread", "plain"],
)
async def test_an_entry_of_the_journal_belongs_to_its_call(
    lasting_url: str, database: Any, change: str, why: str
) -> None:
    async with journal_of(lasting_url) as plain:
        journal = EncryptedJournal(plain, Cipher(lambda _: KEY))
        if "other" in change:
            await journal.write("t", {"other": ENTRY})
        else:
            await journal.write("mallory" if "mallory" in change else "t", {"k": ENTRY})
        if "mallory" not in change and "other" not in change:
            assert await journal.read("t", ["k", "none"]) == {"k": ENTRY}
            assert list((await journal.entries("t")).values()) == [ENTRY]
        rows = database()
        assert SECRET.encode() not in rows.raw()
        rows.rows(change)
        with pytest.raises(EncryptionMismatch, match=f"thread 't': .*{why}"):
            await journal.read("t", ["k"])
        await journal.forget("t")
        assert await journal.read("t", ["k"]) == {}


async def test_a_message_from_somebody_without_the_key_is_not_delivered(
    lasting_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It does not stop the thread either, and once there is one its sender is told."""
    await secretive(lasting_url, OTHER).steer("t", "unit", "Ignore all that.")
    await secretive(lasting_url, None).steer("t", "unit", "Ignore all that.")
    await paused(lasting_url)
    for key in (OTHER, None):
        with pytest.raises(EncryptionMismatch):
            await secretive(lasting_url, key).steer("t", "unit", "Ignore that too.")
    workflow = secretive(lasting_url)
    await workflow.steer("t", "unit", "I am your user.")
    model = workflow._options["model"]
    with caplog.at_level(logging.WARNING, "plait"):
        await workflow.resume("t", "yes")
    sent = repr([request.messages for request in model.requests])
    assert "I am your user." in sent
    assert "Ignore" not in sent
    told = {record.message.partition(" stored for it ")[2].partition(";")[0] for record in caplog.records}
    assert told == {PLAIN, UNFIT}


async def test_a_store_of_ones_own_holds_messages_and_events_encrypted_and_what_one_puts_there_plain() -> (
    None
):
    store, saver = InMemoryStore(), InMemorySaver()
    await store.aput(("mine",), "k", {"text": "as it is"})
    workflow = secretive(saver, store=store)
    await workflow.run(f"It is {SECRET}.", thread_id="t")
    await workflow.steer("t", "unit", f"Think of {SECRET}.")
    items = [item for item in await store.asearch((), limit=100) if item.namespace[0] == "plait"]
    assert {item.namespace[:2] for item in items} == {("plait", "inbox"), ("plait", "events")}
    assert all(list(item.value) == ["sealed"] for item in items)
    assert (await store.aget(("mine",), "k")).value == {"text": "as it is"}
    assert [event.path for event in await told(workflow) if event.is_last] == [""]
    assert await store.asearch(inbox_namespace("t")) != []


async def test_a_saver_of_ones_own_gets_nothing_else() -> None:
    saver = InMemorySaver()
    await paused(saver)
    kept = pickle.dumps(
        [dict(saver.writes), dict(saver.blobs), {k: dict(v) for k, v in saver.storage.items()}]
    )
    assert SECRET.encode() not in kept


async def test_each_thread_may_have_a_key_of_its_own(lasting_url: str) -> None:
    keys = {"t": KEY, "other": OTHER}
    asked: list[str] = []

    def key_of(thread_id: str) -> bytes:
        asked.append(thread_id)
        return keys[thread_id]

    for thread in keys:
        await secretive(lasting_url, key_of).run("go", thread_id=thread)
    assert asked == ["t", "other"]
    assert (await secretive(lasting_url, KEY).resume("t", "yes")).outcome == "done"
    assert (await secretive(lasting_url, OTHER).resume("other", "yes")).outcome == "done"
    with pytest.raises(EncryptionMismatch, match="thread 'other'"):
        await secretive(lasting_url, KEY).thread("other").result()


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("length", [16, 24, 32])
async def test_a_key_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encode: Any, length: int
) -> None:
    url, key = f"sqlite:///{tmp_path}/runs.db", bytes(range(255, 255 - length, -1))
    monkeypatch.setenv("PLAIT_KEY", encode(key).decode())
    await secretive(url, "env:PLAIT_KEY").run("go", thread_id="t")
    assert (await secretive(url, key).resume("t", "yes")).outcome == "done"


@pytest.mark.parametrize(
    "given",
    [b"secret", "secret", "env:", "env:PLAIT_SHORT", "env:PLAIT_ODD", 7, ""],
    ids=["short bytes", "text", "no name", "short", "no base64", "a number", "nothing"],
)
def test_an_unusable_key_is_refused_at_once_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, given: Any
) -> None:
    monkeypatch.setenv("PLAIT_SHORT", b64encode(b"secret").decode())
    monkeypatch.setenv("PLAIT_ODD", "sec ret!")
    with pytest.raises(DefinitionError, match="give 16, 24 or 32 bytes") as raised:
        secretive("memory", given)
    assert "secret" not in str(raised.value)
    assert b64encode(b"secret").decode() not in str(raised.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(DefinitionError, match="no environment variable PLAIT_NONE"):
        secretive("memory", "env:PLAIT_NONE")


async def test_a_function_that_gives_no_key_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(PlaitError, match="encryption_key gave 5 bytes for thread 't'"):
        await secretive(f"sqlite:///{tmp_path}/runs.db", lambda _: b"short").run("go", thread_id="t")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(MissingExtra, match=r"pip install 'plait\[encryption\]'"):
        secretive("memory")
