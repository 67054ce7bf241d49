"""Mutation testing of the core: each small change of the code must make a test of the core fail.

`python3 dev.py mutants` collects `tests/core` once and forks a process for each mutant.  The child
replaces the code of one function and runs only the tests that reach the changed line.
"""
