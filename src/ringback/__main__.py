"""`python -m ringback` is `ringback`; with a plan at hand it is the process that `ringback up` becomes."""

import sys

from ringback.cli.plan import PLAN_FLAG

if __name__ == "__main__":
    if sys.argv[1:3] == ["up", PLAN_FLAG]:
        from ringback.cli import upkeep

        upkeep.main()
    else:
        from ringback.cli.main import main

        main()
