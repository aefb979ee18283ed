"""The parts of the code review: the diff, the repository's tools, the units, the scripted model, the report."""
