"""Partial state of calls that are still arriving: pieces, the store interface, and two stores."""
