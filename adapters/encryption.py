"""Encryption of what threads keep: AES-GCM, every value bound to its thread and to its place there.

What is encrypted, with `Workflow(…, encryption_key=…)`: the values and pending writes of checkpoints, the
journal's results, the messages in inboxes and the events of runs. A checkpoint also carries a seal over
the rest of it, so that it cannot be changed. What is not: thread ids, the names of parts, channels and
keys, a checkpoint's metadata (the run's own `metadata` is in it), what a program keeps in its store (the
`global` scope among it), and what lives in memory alone. Nor does it notice rows that are missing, or
older ones that were put back. `workflow.graph`, compiled with a saver of one's own, knows nothing of the
key.

A key serves some four billion values (AES-GCM with random nonces); a function of the thread id is for
more, and for a key of its own for each user. Keys are not rotated: a thread keeps the key that it was
begun with.
"""

from __future__ import annotations

import binascii
import json
import os
from base64 import b64decode
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..core.errors import DefinitionError, EncryptionMismatch, MissingExtra, PlaitError

LENGTHS = (16, 24, 32)
NONCE = 12
"""Bytes of a nonce: what NIST SP 800-38D recommends for GCM."""

SEALED = "sealed"
"""The one key of an encrypted item of a store."""

KEPT_KEYS = 1024
DOES_NOT_FIT = "was encrypted with another key, changed, or copied from elsewhere"
NOT_ENCRYPTED = "is not encrypted, but an encryption_key was given"
ENCRYPTED = "is encrypted, but no encryption_key was given"
KeyFn = Callable[[str], bytes]
URL_SAFE = str.maketrans("-_", "+/")


class Cipher:
    """Encrypts what belongs to one place of one thread; `key_of` gives a thread's key."""

    def __init__(self, key_of: KeyFn) -> None:
        aesgcm = _aesgcm()

        def of_thread(thread_id: str) -> Any:
            return aesgcm(_checked(key_of(thread_id), thread_id))

        self._of_thread = lru_cache(KEPT_KEYS)(of_thread)

    def seal(self, data: bytes, thread_id: str, *place: Any) -> bytes:
        """`data`, such that `open` gives it back for the same thread and place only."""
        nonce = os.urandom(NONCE)
        sealed: bytes = self._of_thread(thread_id).encrypt(nonce, data, _bound(thread_id, place))
        return nonce + sealed

    def open(self, sealed: bytes, thread_id: str, *place: Any) -> bytes:
        """What was sealed. Raises EncryptionMismatch when it was not, or not with this key and here."""
        from cryptography.exceptions import InvalidTag

        aead = self._of_thread(thread_id)
        try:
            opened: bytes = aead.decrypt(sealed[:NONCE], sealed[NONCE:], _bound(thread_id, place))
        except (InvalidTag, ValueError) as error:
            raise EncryptionMismatch(thread_id, DOES_NOT_FIT) from error
        return opened


def cipher_of(given: Any) -> Cipher | None:
    """The cipher of an `encryption_key`: bytes, a function from thread id to bytes, or `"env:NAME"`.

    The key is never shown. Raises DefinitionError when there is no usable key, and MissingExtra.
    """
    if given is None:
        return None
    if callable(given):
        return Cipher(given)
    key = _from_environment(given) if isinstance(given, str) else given
    if not isinstance(key, bytes) or len(key) not in LENGTHS:
        raise DefinitionError(
            f"encryption_key={_shown(given)}: give 16, 24 or 32 bytes, a function from a thread id to them, "
            f"or 'env:NAME' for an environment variable that holds them in base64"
        )
    return Cipher(lambda thread_id: key)


def _from_environment(given: str) -> Any:
    name = given.removeprefix("env:")
    if name == given or not name:
        return None
    text = os.environ.get(name)
    if text is None:
        raise DefinitionError(f"encryption_key={given!r}: there is no environment variable {name}; set it")
    try:
        return b64decode(text.strip().translate(URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        return None


def _shown(given: Any) -> str:
    """What was given, without showing a key."""
    if isinstance(given, str) and given.startswith("env:"):
        return repr(given)
    return f"<{type(given).__name__}>"


def _checked(key: Any, thread_id: str) -> bytes:
    if isinstance(key, bytes) and len(key) in LENGTHS:
        return key
    told = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
    raise PlaitError(
        f"encryption_key gave {told} for thread {thread_id!r}; it has to give 16, 24 or 32 bytes"
    )


def _bound(thread_id: str, place: Any) -> bytes:
    """The associated data of a value: all that has to be the same when it is read."""
    return json.dumps([thread_id, *place], sort_keys=True, default=str).encode("ascii")


def _aesgcm() -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError as error:
        raise MissingExtra("cryptography", "encryption") from error
    return AESGCM
