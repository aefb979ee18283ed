"""Workflows to read and run."""
