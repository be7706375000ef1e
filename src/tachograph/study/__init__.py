"""A study on disk: its files, plan, registration, ledger and state."""
