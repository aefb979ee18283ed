"""Bridges to what lies outside: models, runtimes, stores."""
