"""Formats of files and their readers and writers, which frontends and interop share; nothing of a framework is here."""
