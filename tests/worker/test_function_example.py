"""The example and the code in the documentation do what they say."""

from pathlib import Path
from typing import Any

from ringback import App
from tests.architecture import markdown
from tests.worker.functions import ROOT, functions


async def test_the_example_runs(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"to be or not {name}", encoding="utf-8")
    async with functions("shop:app", cwd=ROOT / "examples" / "functions") as tools:
        assert await tools.value("total", items=[{"name": "cake", "price": 2.5, "amount": 2}]) == 5.0
        counting = tools.begin("count_words", {"folder": str(tmp_path)})
        assert (await counting.task).summary == "counted 2 files"
        assert [item["words"] for item in counting.recorder.items()] == [5, 5]
        resumed = tools.begin("count_words", {"folder": str(tmp_path)}, checkpoint=1)
        await resumed.task
        assert [item["file"] for item in resumed.recorder.items()] == ["b.md"]
        refused = await tools.call("count_words", {"folder": str(tmp_path), "pattern": "*.none"})
        assert not refused.retryable
        baking = tools.begin("bake", {"cakes": 2, "seconds": 3600})
        assert (await baking.stopped()).kind == "stopped"
        assert baking.recorder.text("stdout") == "the oven is off\n"


def test_the_code_in_the_documentation_runs() -> None:
    names: dict[str, Any] = {}
    for fence in markdown.read(ROOT / "docs" / "functions.md").fences:
        exec(fence.code, names)
    app = names["app"]
    assert isinstance(app, App)
    assert list(app.tools) == ["crawl", "add"]
    assert names["add"](1, 2) == 3
