"""`python -m hack.mutation`: small faults put into the source, one at a time; the tests must notice each of them."""
