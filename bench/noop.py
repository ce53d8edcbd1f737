"""The functions that the figures run: one that does nothing, and one that tells when it began."""

import time

from ringback import App

app = App()


@app.tool
def noop(number: int) -> int:
    return number


@app.tool
def moment() -> float:
    return time.time()
