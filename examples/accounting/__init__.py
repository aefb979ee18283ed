"""The parts of the accounting example: the ledger, the reading rules, the scripted model, the report."""
