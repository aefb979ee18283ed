"""One model object in four event loops, one after another. Nobody closes the connections of a loop that has
ended, so this is a process of its own."""

import asyncio
import sys

import openai
from langchain_openai import ChatOpenAI

from plait import Workflow, WorkflowUnit

client = openai.DefaultAsyncHttpxClient()
model = ChatOpenAI(model="m", base_url=sys.argv[1], api_key="none", http_async_client=client)
workflow = Workflow(WorkflowUnit("work", output=bool), model=model)


async def streamed() -> bool:
    events = [event async for event in workflow.stream("go")]
    return bool(events[-1].result.output)


results = [asyncio.run(workflow.run("go")), asyncio.run(workflow.run("go")), workflow.run_sync("go")]
print([*(result.output for result in results), asyncio.run(streamed())])
