"""Counts down, one number a second, and says goodbye when it is asked to stop: something long to cancel."""

import signal
import sys
import time


def stop(number: int, _frame: object) -> None:
    print(f"asked to stop by {signal.Signals(number).name}: tidying up", flush=True)
    sys.exit(130)


def main() -> None:
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    for left in range(int(sys.argv[1]), 0, -1):
        print(left, flush=True)
        time.sleep(1)
    print("lift-off", flush=True)


if __name__ == "__main__":
    main()
