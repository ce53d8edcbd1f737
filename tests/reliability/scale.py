"""How often things are tried: few times in the ordinary run, as often as the requirement says with RINGBACK_TEST_SCALE=full."""

import os

IS_FULL = os.environ.get("RINGBACK_TEST_SCALE") == "full"


def times(ordinary: int, full: int) -> int:
    """`ordinary`, or `full` when everything is asked for."""
    return full if IS_FULL else ordinary
