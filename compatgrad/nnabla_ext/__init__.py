"""Extensions that programs name: `cpu`, `cuda` and `cudnn`."""

from compatgrad.names.absent import speak as _speak

_speak(__name__)
