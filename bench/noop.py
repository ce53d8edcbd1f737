"""The functions that the figures run: one that does nothing, and one that tells when it began. Both are safe to repeat."""

import time

from ringback import App

app = App()


@app.tool(idempotent=True)
def noop(number: int) -> int:
    return number


@app.tool(idempotent=True)
def moment() -> float:
    return time.time()
