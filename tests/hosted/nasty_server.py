"""An MCP server on the standard library alone that does, when it is asked to, what no server should.

Words on its command line: `banner` (junk before the first message), `modern` (refuses the handshake; speaks 2026-07-28 only),
`mute` (never answers the handshake), `refuse` (ends before it), `batch` (answers in batches).
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

WORDS = set(sys.argv[1:])
META = "io.modelcontextprotocol/"


def write(message: Any) -> None:
    sys.stdout.write(json.dumps([message] if "batch" in WORDS else message) + "\n")
    sys.stdout.flush()


def answer(number: Any, **body: Any) -> None:
    write({"jsonrpc": "2.0", "id": number, **body})


def text(number: Any, said: str, **more: Any) -> None:
    result = {"content": [{"type": "text", "text": said}], **more}
    answer(number, result={**result, "resultType": "complete"} if "modern" in WORDS else result)


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
    write({"jsonrpc": "2.0", "id": f"q-{method}", "method": method, "params": params})
    while True:
        message = read()
        if message.get("id") == f"q-{method}":
            return message


Tool = Callable[[Any, dict[str, Any]], None]
TOOLS: dict[str, Tool] = {}


def tool(name: str) -> Callable[[Tool], Tool]:
    def keep(function: Tool) -> Tool:
        TOOLS[name] = function
        return function

    return keep


def given(params: dict[str, Any]) -> dict[str, Any]:
    return params.get("arguments") or {}


def step(params: dict[str, Any], done: int = 1, **more: Any) -> None:
    token = params["_meta"]["progressToken"]
    told = {"progressToken": token, "progress": done, **more}
    write({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})


@tool("echo")
def tool_echo(number: Any, params: dict[str, Any]) -> None:
    text(number, json.dumps(given(params), sort_keys=True))


@tool("junk")
def tool_junk(number: Any, params: dict[str, Any]) -> None:
    print('a banner on the wrong stream\n{not json}\n[1, 2]\n"text"\n\n{"jsonrpc": "1.0", "id": 1}')
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\xff\xfe\x00 binary\n")
    answer(10**9, result={})
    answer(None, error={"code": 1, "message": "nobody's"})
    write({"jsonrpc": "2.0", "method": "notifications/unknown", "params": [1]})
    text(number, "after the junk")


@tool("trial")
def tool_trial(number: Any, params: dict[str, Any]) -> None:
    ping = ask("ping", {})["result"]
    sys.stdout.buffer.write(b"\xff\nno json\n")
    answer(10**9, result={"content": []})
    refused = ask("sampling/createMessage", {"messages": [], "maxTokens": 1})["error"]["code"]
    text(number, json.dumps({"ping": ping, "sampling": refused}))


@tool("huge")
def tool_huge(number: Any, params: dict[str, Any]) -> None:
    size = int(given(params)["mib"]) * 1024 * 1024
    line = json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "#"}]}})
    head, _, tail = line.partition("#")
    sys.stdout.write(head)
    for _ in range(size // 65536):
        sys.stdout.write("x" * 65536)
    sys.stdout.write(tail + "\n")
    sys.stdout.flush()


@tool("die")
def tool_die(number: Any, params: dict[str, Any]) -> None:
    print("about to die", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@tool("exit")
def tool_exit(number: Any, params: dict[str, Any]) -> None:
    sys.exit(3)


@tool("close")
def tool_close(number: Any, params: dict[str, Any]) -> None:
    sys.stdout.flush()
    os.close(1)
    signal.pause()


@tool("linger")
def tool_linger(number: Any, params: dict[str, Any]) -> None:
    if os.fork() == 0:
        signal.pause()
    os._exit(4)


@tool("hang")
def tool_hang(number: Any, params: dict[str, Any]) -> None:
    step(params)
    signal.pause()


@tool("deaf")
def tool_deaf(number: Any, params: dict[str, Any]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    step(params)
    while True:
        signal.pause()


@tool("obey")
def tool_obey(number: Any, params: dict[str, Any]) -> None:
    step(params)
    while (message := read()).get("method") != "notifications/cancelled":
        pass
    assert message["params"]["requestId"] == number
    answer(number, error={"code": -32000, "message": "cancelled"})


@tool("ask")
def tool_ask(number: Any, params: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    request = {"message": "Who are you?\nTell the truth.", "requestedSchema": schema, **given(params)}
    if "modern" in WORDS:
        told = params.get("inputResponses")
        if told is None:
            asked = {"who": {"method": "elicitation/create", "params": request}}
            result = {"resultType": "input_required", "inputRequests": asked, "requestState": "s1"}
            answer(number, result=result)
            return
        assert params["requestState"] == "s1"
        text(number, json.dumps(told["who"], sort_keys=True))
        return
    told = ask("elicitation/create", request)
    text(number, json.dumps(told.get("result") or told["error"], sort_keys=True))


@tool("sample")
def tool_sample(number: Any, params: dict[str, Any]) -> None:
    messages = [{"role": "user", "content": {"type": "text", "text": "the capital of France?"}}]
    told = ask("sampling/createMessage", {"messages": messages, "maxTokens": 10})
    text(number, json.dumps(told.get("result") or told["error"], sort_keys=True))


@tool("progress")
def tool_progress(number: Any, params: dict[str, Any]) -> None:
    for done in range(1, 4):
        step(params, done, total=3, message=f"step {done}")
    write({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warning", "data": {"a": 1}}})
    text(number, "done", structuredContent={"steps": 3})


@tool("secret")
def tool_secret(number: Any, params: dict[str, Any]) -> None:
    value = os.environ.get("API_KEY", "no key")
    print(f"the key is {value}", file=sys.stderr, flush=True)
    text(number, f"{value} and {sorted(n for n in os.environ if n.startswith('RINGBACK_T'))}")


@tool("wrong")
def tool_wrong(number: Any, params: dict[str, Any]) -> None:
    answer(number, error={"code": -32602, "message": "no such argument"})


@tool("fail")
def tool_fail(number: Any, params: dict[str, Any]) -> None:
    text(number, "it did not work\nreally not", isError=True)


@tool("pinged")
def tool_pinged(number: Any, params: dict[str, Any]) -> None:
    text(number, json.dumps(ask("ping", {})["result"]))


@tool("pid")
def tool_pid(number: Any, params: dict[str, Any]) -> None:
    text(number, str(os.getpid()))


@tool("fork")
def tool_fork(number: Any, params: dict[str, Any]) -> None:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.pause()
    text(number, str(pid))


def listed(params: dict[str, Any]) -> dict[str, Any]:
    """Two pages."""
    start = int(params.get("cursor") or 0)
    page = [{"name": name, "inputSchema": {"type": "object"}} for name in list(TOOLS)[start : start + 10]]
    return {"tools": page, **({"nextCursor": str(start + 10)} if start + 10 < len(TOOLS) else {})}


def serve() -> None:
    while True:
        message = read()
        number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if number is None or method is None:
            continue
        if "modern" in WORDS and method not in ("initialize",):
            assert params["_meta"][META + "protocolVersion"] == "2026-07-28", params
        if method == "initialize":
            if "mute" in WORDS:
                continue
            if "modern" in WORDS:
                answer(number, error={"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"]}})
                continue
            info = {"name": "nasty", "version": "1"}
            answer(number, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "server/discover" and "modern" in WORDS:
            answer(
                number,
                result={"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            )
        elif method == "tools/list":
            answer(number, result=listed(params))
        elif method == "tools/call":
            if params["name"] in TOOLS:
                TOOLS[params["name"]](number, params)
            else:
                answer(number, error={"code": -32602, "message": f"Unknown tool: {params['name']}"})
        else:
            answer(number, error={"code": -32601, "message": "Method not found"})


if "banner" in WORDS:
    print("Welcome to the nasty server 1.0!\n", flush=True)
if "refuse" in WORDS:
    sys.exit("there is no license for the key " + os.environ.get("API_KEY", "none"))
serve()
