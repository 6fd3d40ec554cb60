"""``python -m causalaudit``."""

from causalaudit.cli import main

if __name__ == "__main__":
    main()
