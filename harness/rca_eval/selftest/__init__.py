"""The self-test of the gate: named faults of the ranker, put in one at a time, and replays that must not differ.

A gate is a measuring instrument. How sensitive it is on a set of incidents is not a matter of opinion: put a
known fault into the engine, run the whole evaluation, and see whether the verdict names an incident. Nothing
here is imported by the engine, the gate or the operator.
"""
