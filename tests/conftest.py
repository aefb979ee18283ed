"""What holds for every test: strict serialisation, and nothing taken from the developer's environment.

pytest reads this file before any test module, and so before LangGraph is imported, which reads its
setting once, at import.
"""

import os

from hypothesis import settings

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
    os.environ.pop(name, None)
for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ[name] = "false"

# A property says what holds, not how fast: a deadline fails on a busy machine.
settings.register_profile("plait", settings(), deadline=None)
settings.load_profile("plait")

from .databases import lasting_url, postgres, saver_url, server  # noqa: E402  # it imports LangGraph

__all__ = ["lasting_url", "postgres", "saver_url", "server"]
