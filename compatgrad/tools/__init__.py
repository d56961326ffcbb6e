"""The commands of `python -m compatgrad`: each is a module with `main(arguments)`, which returns the exit status.

0 means done and nothing found, 1 that something was found or failed, and 2 that the command line is wrong. A command
that runs a program returns the exit status of the program.
"""
