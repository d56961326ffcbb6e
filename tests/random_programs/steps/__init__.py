"""Random training runs, made from a seed: optimizers with all their options, and what programs do between steps.

The same run goes on the original and on compatgrad; `python -m tests.random_programs.steps FRAMEWORK` writes what
came out. Recorded by tests/golden/record_steps.py, compared by tests/*/test_*random_steps.py.
"""
