"""The command line: ``causalaudit``, and ``python -m causalaudit``."""

from causalaudit.cli.commands import app


def main() -> None:
    """Run the command line."""
    app()


__all__ = ["app", "main"]
