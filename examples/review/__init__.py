"""The parts of the code review: diff, repository, units, rules of the scripted model, report."""
