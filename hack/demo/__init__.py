"""`make demo`: what the project is for, shown on this machine in a few minutes."""
