"""The local worker of `ringback up`: `ringback worker` without the command line around it, to save its memory."""

import sys

from ringback.worker.main import main

if __name__ == "__main__":
    main(sys.argv[1:])
