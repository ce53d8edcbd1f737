"""The local worker of `ringback up`: `ringback worker` that ends with its parent."""

import sys

from ringback.cli.lifeline import die_with_parent


def main() -> None:
    """Work until told to stop."""
    from ringback.worker.main import main as work

    die_with_parent()
    work(sys.argv[1:])


if __name__ == "__main__":
    main()
