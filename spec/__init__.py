"""The YAML form of a workflow: reading, checking and writing it."""
