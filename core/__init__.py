"""The words: values, protocols and errors. No engine."""
