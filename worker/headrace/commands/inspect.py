"""`headrace inspect`."""


def inspect() -> None:
    """Placeholder."""
