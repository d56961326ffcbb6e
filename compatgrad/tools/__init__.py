"""The commands of `python -m compatgrad`, a module each with `main(arguments)`, which returns the exit status.

0 means done and nothing found, 1 that something was found or failed, and 2 that the command line is wrong. What a
program that a command runs exits with is passed on.
"""
