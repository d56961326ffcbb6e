"""Readers and writers of file formats, shared by the frontends and interop; independent of the frameworks."""
