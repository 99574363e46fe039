"""How fast the harness is, against stated bounds: `python -m benchmarks --help`."""
