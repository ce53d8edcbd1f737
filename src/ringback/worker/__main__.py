"""`python -m ringback.worker`: a worker without what the command line of `ringback` loads."""

import sys

from ringback.worker.main import main

if __name__ == "__main__":
    main(sys.argv[1:])
