"""A whole installation in memory for the search for counterexamples: the operator's real reconcilers over an API store that
keeps every version, Jobs that end in any way, answers that get lost, processes that die, clocks that are set back.
"""
