"""`headrace demo`."""


def demo() -> None:
    """Placeholder."""
