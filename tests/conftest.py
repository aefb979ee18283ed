"""What holds for every test: strict serialisation, and nothing taken from the developer's environment.

pytest reads this file before any test module, and so before LangGraph is imported, which reads its
setting once, at import.
"""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
    os.environ.pop(name, None)
for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ[name] = "false"
