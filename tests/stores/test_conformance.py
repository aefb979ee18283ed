"""LangGraph's own conformance suite, against the savers as a workflow opens them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from plait.adapters.encryption import Cipher, cipher_of
from plait.adapters.stores import saver_for, saver_source


@pytest.mark.parametrize("cipher", [None, cipher_of(b"k" * 32)], ids=["plain", "encrypted"])
async def test_savers_conform(saver_url: Any, cipher: Cipher | None) -> None:
    source = saver_source(saver_url, [])

    @checkpointer_test(name="plait")
    async def opened() -> AsyncIterator[Any]:
        async with source.use() as saver:
            yield saver_for(saver, "t", cipher=cipher)

    report = await validate(opened)
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {}
    assert report.passed_all_base()
