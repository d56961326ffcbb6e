"""Damaged files for every reader: none may end the process, hang, take memory, load a half or fail without words."""
