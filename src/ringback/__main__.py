"""`python -m ringback` is `ringback`."""

from ringback.cli.main import main

if __name__ == "__main__":
    main()
