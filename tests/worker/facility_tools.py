"""Function tools that use kept values, secrets and their configuration, for the tests of those."""

from typing import Any

from ringback import App, CapabilityRefusedError, ChildRefusedError, Context, ValueChangedError

app = App()


@app.tool
def keeps(ctx: Context, key: str, value: Any = None, if_version: int | None = None) -> Any:
    """Read, write and delete, and say what came back."""
    try:
        before = ctx.kv.read(key)
        after = ctx.kv.write(key, value, if_version=if_version)
        gone = ctx.kv.delete(key)
    except ValueChangedError as error:
        return {"changed": error.current.version}
    except CapabilityRefusedError as error:
        return {"refused": str(error)}
    return [[each.value, each.version] for each in (before, after, gone)]


@app.tool
async def keeps_awaiting(ctx: Context) -> Any:
    """The same, while the loop goes on."""
    before = await ctx.kv.read("k")
    after = await ctx.kv.write("k", [before.value], if_version=before.version)
    return [after.value, after.version]


@app.tool(secrets=["SECRET_TOKEN", "ABSENT_TOKEN"])
def tells(ctx: Context, name: str) -> Any:
    """Say a secret, which nobody will hear."""
    try:
        return {"is": ctx.secret(name), "length": len(ctx.secret(name))}
    except CapabilityRefusedError as error:
        return {"refused": str(error)}


@app.tool(timeout=77)
async def configured(ctx: Context) -> Any:
    """The frozen configuration, in an async tool."""
    return ctx.config


@app.tool(idempotent=True)
def count(ctx: Context) -> int:
    """Count the runs of this tool, whoever counts at the same time."""
    while True:
        now = ctx.kv.read("count")
        try:
            return int(ctx.kv.write("count", (now.value or 0) + 1, if_version=now.version).value)
        except ValueChangedError:
            continue


@app.tool
def goes_on(ctx: Context) -> str:
    """Start what there is not, and be told so, and nothing worse."""
    try:
        return ctx.start("nix")
    except ChildRefusedError as error:
        ctx.page([str(error)])
        return str(ctx.kv.read("k").version)
