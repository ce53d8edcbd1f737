"""An application of three tools: `ringback worker shop:app`, started in this folder."""

import asyncio
import collections
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ringback import App, Context, Fail

app = App()


@dataclass
class Item:
    name: str
    price: float
    amount: int = 1


@app.tool
def total(items: list[Item]) -> float:
    """Add up the prices of some items."""
    return sum(item.price * item.amount for item in items)


@app.tool(timeout=600, retry=3, idempotent=True)
def count_words(
    ctx: Context, folder: str, pattern: Annotated[str, "which files, as a glob"] = "*.md"
) -> Iterator[dict]:
    """Count the words of text files; the counts of each file are readable while the work goes on."""
    files = sorted(Path(folder).glob(pattern))
    if not files:
        raise Fail(f"there are no files {pattern} in {folder}", retryable=False)
    done = ctx.last_checkpoint or 0
    for number, file in enumerate(files[done:], done + 1):
        ctx.progress(number, len(files), file.name)
        words = collections.Counter(file.read_text(encoding="utf-8").lower().split())
        yield {"file": file.name, "words": words.total(), "most": words.most_common(1)}
        ctx.checkpoint(number)
    ctx.summary = f"counted {len(files)} files"


@app.tool(concurrency="kitchen", timeout=3600)
async def bake(ctx: Context, cakes: int = 1, seconds: float = 1.0) -> str:
    """Bake cakes one after the other; stop it, and the oven is switched off."""
    try:
        for cake in range(1, cakes + 1):
            ctx.progress(cake, cakes)
            await asyncio.sleep(seconds)
    finally:
        print("the oven is off")
    return f"{cakes} cakes"
