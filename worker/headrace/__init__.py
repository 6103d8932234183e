"""Headrace: raw LLM provider traffic in, canonical records out."""

__version__ = "0.1.0"
