"""LangGraph's own conformance suite, against the savers as a workflow opens them."""

from collections.abc import AsyncIterator
from typing import Any

from langgraph.checkpoint.conformance import checkpointer_test, validate

from plait.adapters.stores import saver_for, saver_source


async def test_savers_conform(lasting_url: str) -> None:
    source = saver_source(lasting_url, [])

    @checkpointer_test(name="plait")
    async def opened() -> AsyncIterator[Any]:
        async with source.use() as saver:
            yield saver_for(saver, "t")

    report = await validate(opened)
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {}
    assert report.passed_all_base()
