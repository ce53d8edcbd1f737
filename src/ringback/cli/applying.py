"""Makes the tools of a file current on a server that has just come up, in a process that ends right after.

`ringback up` stays small because what is needed once (client, HTTP) lives here. In: one JSON object on stdin. Out: what
changed, on stderr; exit code 1 and one line on stdout when the server refused.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

from ringback.client.blocking import Ringback
from ringback.client.errors import RingbackError
from ringback.client.plainwire import PlainWire


def main() -> int:
    """Apply; returns the exit code."""
    asked: Mapping[str, Any] = json.load(sys.stdin)
    try:
        with Ringback(asked["url"], data=asked["data"], wire=PlainWire(asked["url"])) as client:
            changes = client.apply(asked["definitions"])
    except RingbackError as refused:
        print(refused)
        return 1
    changed = [change.name for change in changes if change.change != "unchanged"]
    if changed:
        print(f"tools applied: {', '.join(changed)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
