"""The server process of `ringback up`: settings come as one line of JSON on stdin, errors leave as one line on stderr."""

import logging
import sys
import traceback

from ringback.cli.lifeline import die_with_parent
from ringback.settings.server import ServerSettings
from ringback.worker import logs

CHATTY = "uvicorn.error"  # tells each start and stop, which `ringback up` tells already


def main() -> None:
    """Serve until told to stop."""
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        settings = ServerSettings.from_json(stdin.readline())
    die_with_parent()
    logs.configure(settings.log_level, settings.log_format)
    logging.getLogger(CHATTY).setLevel(logging.WARNING)
    try:
        from ringback.wiring import serve

        serve(settings)
    except Exception as error:  # noqa: BLE001 - the outermost frame: whatever it is, the user gets one line
        if settings.log_level == "debug":
            traceback.print_exc()
        text = str(error) or type(error).__name__
        print(f"ringback: the server cannot run: {text.splitlines()[0]}", file=sys.stderr, flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
