"""The three steps of an eval Job: prepare (redact), engine (answer), scorecard (grade)."""
