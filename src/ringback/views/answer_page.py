"""The page behind an answer link: one question as a form that fits a phone, or how it ended. No script, nothing from elsewhere.

Everything that came from work or from people is escaped. The style stands in the page and is allowed by its digest.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from ringback.domain.errors import Flaw
from ringback.domain.moments import SECOND, Moment
from ringback.services.forms import ACTION, OPTION, FieldKind, FormField, fields_of
from ringback.services.questions import DECIDED, Interaction

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--page:#f6f8fa;--card:#fff;--line:#8c959f;
--go:#0b6b3a;--no:#b42318;--flaw:#b42318}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#a8b3be;--page:#0d1117;--card:#161b22;--line:#6e7681;--flaw:#ff8a7a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:17px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:34rem;margin:0 auto;padding:1rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:1.1rem}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 .6rem}
p{margin:0 0 .8rem}
.said{white-space:pre-wrap}
.soft{color:var(--soft);font-size:.9rem}
.flaws{border:2px solid var(--flaw);border-radius:8px;padding:.6rem .8rem;margin:0 0 1rem}
.flaws ul{margin:0;padding-left:1.1rem}
.flaw{color:var(--flaw);font-weight:600;margin:.2rem 0 0}
fieldset{border:0;margin:0 0 1rem;padding:0}
legend,label{font-weight:600}
.field{margin:0 0 1rem}
.pick{display:flex;gap:.7rem;align-items:center;min-height:48px;padding:.3rem .7rem;margin:.4rem 0 0;
border:1px solid var(--line);border-radius:8px;font-weight:400}
.pick input{width:22px;height:22px;flex:none;margin:0}
input[type=text],input[type=password],input[type=number],select,textarea{
width:100%;min-height:48px;margin-top:.3rem;padding:.5rem .7rem;
font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:8px}
textarea{min-height:7rem;font-family:ui-monospace,monospace;font-size:16px}
button{width:100%;min-height:52px;margin:.5rem 0 0;padding:.6rem;
font:inherit;font-weight:700;border-radius:10px;border:2px solid var(--go);
background:var(--go);color:#fff}
button.no{background:var(--card);border-color:var(--no);color:var(--ink)}
:focus-visible{outline:3px solid #3b82f6;outline-offset:2px}
dl{margin:0}dt{font-weight:600}dd{margin:0 0 .6rem;white-space:pre-wrap}
""".strip()
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
MEDIA_TYPE = "text/html; charset=utf-8"
HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
    "cross-origin-opener-policy": "same-origin",
}
_ENDED = {
    "answered": "This question was answered",
    "rejected": "This question was rejected",
    "expired": "The time for this question is over",
    "withdrawn": "This question was taken back",
}


def question_page(
    asked: Interaction, *, tool: str, given: Mapping[str, str] | None = None, flaws: Sequence[Flaw] = ()
) -> bytes:
    """The form. `given` is what was filled in before, `flaws` what was wrong with it."""
    fields = fields_of(asked)
    title, description = str(asked.question["title"]), asked.question.get("description")
    facts = [f"Asked by a job of {escape(tool)}."]
    if asked.expires_at is not None:
        facts.append(f"It can be answered until {_moment(asked.expires_at)}.")
    parts = [
        _flaws(fields, flaws),
        f"<h1>{escape(title)}</h1>",
        f'<p class="said">{escape(str(description))}</p>' if description else "",
        f'<p class="soft">{" ".join(facts)}</p>',
        '<form method="post" autocomplete="off">',
        _options(asked, given or {}),
        *(_field(f"f{at}", each, given or {}, flaws) for at, each in enumerate(fields)),
        *_buttons(asked),
        "</form>",
    ]
    return _page(f"{'Not yet: ' if flaws else ''}{title}", parts)


def ended_page(asked: Interaction, *, is_late: bool = False) -> bytes:
    """How a question ended, with the answer that counts. `is_late`: to somebody who just tried to answer it."""
    said = dict(asked.response or {})
    parts = [f'<p class="flaws" role="alert">{LATE}</p>'] if is_late else []
    ended = _ENDED.get(
        asked.status, _ENDED["withdrawn"]
    )  # an open one, whose run is over: the row will say so in a moment
    parts += [f"<h1>{ended}</h1>", f'<p class="said">{escape(str(asked.question["title"]))}</p>', "<dl>"]
    labels = {each["id"]: str(each.get("label") or each["id"]) for each in asked.question.get("options") or ()}
    facts: dict[str, Any] = {
        "Decision": {"approve": "approved", "reject": "rejected"}.get(str(said.get("decision"))),
        "Choice": labels.get(said.get("selectedOptionId")),
        "Answer": _shown(asked, said),
        "By": said.get("submittedBy"),
        "At": said.get("submittedAt"),
    }
    parts += [f"<dt>{name}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items() if fact is not None]
    return _page(ended, [*parts, "</dl>"])


LATE = "Your answer came too late: the question was over already. This is how it ended."


def message_page(title: str, text: str) -> bytes:
    """Something to say, and nothing to do."""
    return _page(title, [f"<h1>{escape(title)}</h1>", f"<p>{escape(text)}</p>"])


def _page(title: str, parts: Iterable[str]) -> bytes:
    body = "\n".join(part for part in parts if part)
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body><main><div class="card">
{body}
</div></main></body>
</html>
"""
    return text.encode(errors="replace")


def _flaws(fields: Sequence[FormField], flaws: Sequence[Flaw]) -> str:
    if not flaws:
        return ""
    names = {each.pointer: each.title for each in fields} | {"/selectedOptionId": "Choice", "/decision": "Decision"}
    items = "".join(f"<li>{escape(f'{names.get(each.pointer, each.pointer)}: {each.detail}')}</li>" for each in flaws)
    return f'<div class="flaws" role="alert"><p><strong>This is not an answer yet.</strong></p><ul>{items}</ul></div>'


def _options(asked: Interaction, given: Mapping[str, str]) -> str:
    options = asked.question.get("options")
    if not options:
        return ""
    picks = "".join(
        f'<label class="pick"><input type="radio" name="{OPTION}" value="{escape(each["id"])}" required'
        f"{' checked' if given.get(OPTION) == each['id'] else ''}>{escape(str(each.get('label') or each['id']))}</label>"
        for each in options
    )
    return f"<fieldset><legend>Choose one</legend>{picks}</fieldset>"


def _field(at: str, field: FormField, given: Mapping[str, str], flaws: Sequence[Flaw]) -> str:
    wrong = [each.detail for each in flaws if each.pointer == field.pointer]
    about = [f"{at}-about"] if field.description else []
    about += [f"{at}-flaw"] if wrong else []
    marks = f' aria-describedby="{" ".join(about)}"' if about else ""
    marks += ' aria-invalid="true"' if wrong else ""
    said = given.get(field.input_name)
    parts = [f'<p class="soft" id="{at}-about">{escape(field.description)}</p>'] if field.description else []
    parts += [f'<p class="flaw" id="{at}-flaw">{escape("; ".join(wrong))}</p>'] if wrong else []
    if field.kind is FieldKind.BOOLEAN:
        is_on = field.schema.get("default") is True if not given else said is not None
        box = (
            f'<input type="checkbox" name="{escape(field.input_name)}" value="yes"{" checked" if is_on else ""}{marks}>'
        )
        return f'<div class="field"><label class="pick">{box}{escape(field.title)}</label>{"".join(parts)}</div>'
    label = f'<label for="{at}">{escape(field.title)}{"" if field.is_required else " (optional)"}</label>'
    return f'<div class="field">{label}{_control(at, field, marks, said)}{"".join(parts)}</div>'


def _control(at: str, field: FormField, marks: str, said: str | None) -> str:
    has = f'id="{at}" name="{escape(field.input_name)}"{marks}{" required" if field.is_required else ""}'
    default = field.schema.get("default")
    match field.kind:
        case FieldKind.CHOICE:
            chosen = said if said is not None else "" if default is None else json.dumps(default)
            options = "".join(
                f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(label)}</option>'
                for value, label in field.choices
            )
            return f'<select {has}><option value="">Choose</option>{options}</select>'
        case FieldKind.JSON:
            text = said if said is not None else "" if default is None else json.dumps(default, ensure_ascii=False)
            hint = f'<p class="soft">{JSON_HINT}</p>' if field.schema else ""
            return f'<textarea {has} spellcheck="false">{escape(text)}</textarea>{hint}'
        case FieldKind.NUMBER | FieldKind.INTEGER:
            step = "1" if field.kind is FieldKind.INTEGER else "any"
            limits = {"min": field.schema.get("minimum"), "max": field.schema.get("maximum")}
            bounds = "".join(f' {key}="{escape(str(bound))}"' for key, bound in limits.items() if bound is not None)
            return f'<input type="number" inputmode="decimal" step="{step}"{bounds} {has}{_filled(said, default)}>'
        case FieldKind.HIDDEN:
            return f'<input type="password" autocomplete="off" {has}>'
        case _:
            longest = field.schema.get("maxLength")
            bound = f' maxlength="{longest}"' if isinstance(longest, int) else ""
            return f'<input type="text"{bound} {has}{_filled(said, default)}>'


JSON_HINT = "Written as JSON."


def _filled(said: str | None, default: Any) -> str:
    text = said if said is not None else "" if default is None else str(default)
    return f' value="{escape(text)}"' if text else ""


def _buttons(asked: Interaction) -> list[str]:
    is_decided = asked.kind in DECIDED and not asked.question.get("options")
    yes = ("approve", "Approve" if asked.kind == "approval" else "Confirm") if is_decided else ("answer", "Send answer")
    no = "Reject" if asked.kind in DECIDED else "Refuse to answer"
    return [
        f'<button name="{ACTION}" value="{yes[0]}">{yes[1]}</button>',
        f'<button class="no" name="{ACTION}" value="reject" formnovalidate>{no}</button>',
    ]


def _shown(asked: Interaction, said: Mapping[str, Any]) -> str | None:
    """The payload, unless it proves who answered."""
    if "payload" not in said:
        return None
    if asked.kind == "auth":
        return "(not shown)"
    payload = said["payload"]
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, indent=2)


def _moment(at: Moment) -> str:
    return f"{datetime.fromtimestamp(at // SECOND, UTC):%Y-%m-%d %H:%M} UTC"
