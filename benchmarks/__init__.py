"""What Plait costs, measured beside the same work written by hand on LangGraph."""
