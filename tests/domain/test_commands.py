"""Command templates: what argv they make, what they refuse, and that no value gains power over the command."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from ringback.domain.command_values import COMMAND_BYTES_MAX, ELEMENT_BYTES_MAX
from ringback.domain.commands import CommandTemplateError, check_template, render


def shell(text: str, **extra: Any) -> dict[str, Any]:
    return {"command": {"shell": text}, "shell": True, **extra}


def refusal(profile: dict[str, Any], arguments: dict[str, Any]) -> CommandTemplateError:
    with pytest.raises(CommandTemplateError) as caught:
        render(profile, arguments)
    return caught.value


# --- lists: what is rendered


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        (["true"], {}, ["true"]),
        (["pytest", "-q", "{t}"], {"t": "a.py"}, ["pytest", "-q", "a.py"]),
        (["pytest", "{t}"], {"t": "a b; rm -rf /"}, ["pytest", "a b; rm -rf /"]),
        (["pytest", "{t}"], {}, ["pytest"]),
        (["pytest", "{t}"], {"t": None}, ["pytest"]),
        (["pytest", "{t}"], {"t": ""}, ["pytest", ""]),
        (["pytest", "{t}"], {"t": "{u}{{"}, ["pytest", "{u}{{"]),
        (["pytest", "{t}"], {"t": ["a", "b"]}, ["pytest", "a", "b"]),
        (["pytest", "{t}"], {"t": []}, ["pytest"]),
        (["pytest", "--ignore={t}"], {"t": ["a", "b"]}, ["pytest", "--ignore=a", "--ignore=b"]),
        (["pytest", "--suite={s}"], {"s": "-p evil"}, ["pytest", "--suite=-p evil"]),
        (["pytest", "--suite={s}"], {}, ["pytest"]),
        (["pytest", "tests/{s}.py"], {"s": "--co"}, ["pytest", "tests/--co.py"]),
        (["pytest", ["-k", "{k}"], "{t}"], {"t": "a"}, ["pytest", "a"]),
        (["pytest", ["-k", "{k}"], "{t}"], {"k": "x", "t": "a"}, ["pytest", "-k", "x", "a"]),
        (["pytest", ["--", "{t}"]], {"t": ["a", "-b"]}, ["pytest", "--", "a", "-b"]),
        (["pytest", ["--", "{t}"]], {"t": []}, ["pytest"]),
        (["git", "log", "--", "{t}"], {"t": "--upload-pack=x"}, ["git", "log", "--", "--upload-pack=x"]),
        (["npm", "test", "--", "--", "{t}"], {"t": "--version"}, ["npm", "test", "--", "--", "--version"]),
        (["x", "{{{n}}}", "}}{{"], {"n": 1}, ["x", "{1}", "}{"]),
        (["x", "{{n}}"], {}, ["x", "{n}"]),
        (["x", "{n}"], {"n": 3}, ["x", "3"]),
        (["x", "{n}"], {"n": 3.0}, ["x", "3"]),
        (["x", "{n}"], {"n": 2.5}, ["x", "2.5"]),
        (["x", "{n}"], {"n": True}, ["x", "true"]),
        (["x", "{n}"], {"n": False}, ["x", "false"]),
        (["x", "{n}"], {"n": {"a": [1, "ü"]}}, ["x", '{"a":[1,"ü"]}']),
        (["x", "--n={n}"], {"n": -5}, ["x", "--n=-5"]),
        (["x", "{a}/{b}"], {"a": "1", "b": "2"}, ["x", "1/2"]),
        (["x", "{a}/{b}"], {"a": "1"}, ["x"]),
    ],
)
def test_renders(command: list[Any], arguments: dict[str, Any], expected: list[str]) -> None:
    assert render({"command": command}, arguments) == tuple(expected)


def test_defaults_stand_in_for_absent_and_null_arguments() -> None:
    profile = {"command": ["t", "{suite}", "{n}"], "defaults": {"suite": "all", "n": None}}
    assert render(profile, {}) == ("t", "all")
    assert render(profile, {"suite": None}) == ("t", "all")
    assert render(profile, {"suite": "e2e", "n": 1}) == ("t", "e2e", "1")


def test_a_trusted_input_may_be_an_option() -> None:
    profile = {"command": ["t", "{x}", "-{x}", "{y}"], "allowOptions": ["x"]}
    assert render(profile, {"x": ["-v", "@f"]}) == ("t", "-v", "@f", "--v", "-@f")
    assert refusal(profile, {"y": "-v"}).pointer == "/y"


# --- lists: what is refused


@pytest.mark.parametrize(
    ("command", "arguments", "pointer", "rule"),
    [
        (["pytest", "{t}"], {"t": "-p evil"}, "/t", 'must not begin with "-"'),
        (["pytest", "{t}"], {"t": "--version"}, "/t", 'must not begin with "-"'),
        (["pytest", "{t}"], {"t": "--co"}, "/t", 'must not begin with "-"'),
        (["pytest", "{t}"], {"t": "-"}, "/t", 'must not begin with "-"'),
        (["pytest", "{t}"], {"t": -5}, "/t", 'must not begin with "-"'),
        (["pytest", "{t}"], {"t": ["a", "-p"]}, "/t/1", 'must not begin with "-"'),
        (["pytest", "{a}{b}"], {"a": "", "b": "-p"}, "/a", 'must not begin with "-"'),
        (["pytest", "{a}-{b}"], {"a": "", "b": "p evil"}, "/a", 'must not begin with "-"'),
        (["pytest", "-{a}"], {"a": "p"}, "/a", 'must not begin with "-"'),
        (["pytest", "--{a}"], {"a": "version"}, "/a", 'must not begin with "-"'),
        (["pytest", ["-k", "{k}"]], {"k": "-x"}, "/k", 'must not begin with "-"'),
        (["pytest", ["--", "{a}"], "{t}"], {"t": "-x"}, "/t", 'must not begin with "-"'),
        (["npm", "test", "--", "{t}"], {"t": "--version"}, "/t", 'must not begin with "-"'),
        (["/usr/bin/uv", "run", "npm", "--", "--", "{t}"], {"t": "-v"}, "/t", 'must not begin with "-"'),
        (["pytest", "{t}"], {"t": "@options.txt"}, "/t", 'must not begin with "@"'),
        (["pytest", "--", "{t}"], {"t": "@options.txt"}, "/t", 'must not begin with "@"'),
        (["pytest", "{t}"], {"t": "x\u0000"}, "/t", "NUL"),
        (["pytest", "--t={t}"], {"t": "x\u0000"}, "/t", "NUL"),
        (["pytest", "{t}"], {"t": "\ud800"}, "/t", "surrogate"),
        (["pytest", "{t}"], {"t": [["a"]]}, "/t/0", "a string, a number"),
        (["pytest", "{t}"], {"t": [None]}, "/t/0", "a string, a number"),
        (["pytest", "{t}"], {"t": float("nan")}, "/t", "no JSON text"),
        (["pytest", "{t}"], {"t": {"a": object()}}, "/t", "no JSON text"),
        (["pytest", "{t}"], {"t": 10**400}, "/t", "300 digits"),
        (["pytest", "{a}{b}"], {"a": ["1"], "b": ["2"]}, "/b", "only one list"),
        (["pytest", "{t}"], {"t": "x" * (ELEMENT_BYTES_MAX + 1)}, "/t", "at most"),
        (["pytest", "--t={t}"], {"t": "x" * ELEMENT_BYTES_MAX}, "", "one element"),
        (["pytest", "{t}"], {"t": ["x" * ELEMENT_BYTES_MAX] * 9}, "", str(COMMAND_BYTES_MAX)),
    ],
)
def test_refuses_values(command: list[Any], arguments: dict[str, Any], pointer: str, rule: str) -> None:
    error = refusal({"command": command}, arguments)
    assert error.pointer == pointer
    assert rule in error.rule


@pytest.mark.parametrize(
    ("profile", "pointer", "rule"),
    [
        ({}, "/command", "a list of strings"),
        ({"command": []}, "/command", "not empty"),
        ({"command": "pytest -q"}, "/command", "needs shell = true"),
        ({"command": {"shell": 5}}, "/command", "a shell command is a text"),
        ({"command": {"shell": " \n"}}, "/command", "not empty"),
        ({"command": ["{program}"]}, "/command/0", "a caller never chooses it"),
        ({"command": ["bin/{program}"]}, "/command/0", "a caller never chooses it"),
        ({"command": [["pytest"]]}, "/command/0", "a caller never chooses it"),
        ({"command": [""]}, "/command/0", "a caller never chooses it"),
        ({"command": ["-x"]}, "/command/0", "does not begin"),
        ({"command": ["x", 5]}, "/command/1", "is a string"),
        ({"command": ["x", ["y", 5]]}, "/command/1/1", "is a string"),
        ({"command": ["x", "{"]}, "/command/1", 'a lone "{"'),
        ({"command": ["x", "{1}"]}, "/command/1", 'a lone "{"'),
        ({"command": ["x", "a}"]}, "/command/1", 'a lone "}"'),
        ({"command": ["x", "{a.b}"]}, "/command/1", 'a lone "{"'),
        ({"command": ["x", "\x00"]}, "/command/1", "NUL"),
        ({"command": ["x"], "defaults": 5}, "", "defaults"),
    ],
)
def test_refuses_templates(profile: dict[str, Any], pointer: str, rule: str) -> None:
    error = refusal(profile, {"program": "evil"})
    assert (error.pointer, rule in error.rule) == (pointer, True)
    assert error.rule in str(error)


# --- shell scripts


@pytest.mark.parametrize(
    ("script", "arguments", "expected"),
    [
        ("echo {t}", {"t": "a b"}, "echo 'a b'"),
        ("echo {t}", {"t": "it's; rm -rf /"}, "echo 'it'\"'\"'s; rm -rf /'"),
        ("echo {t}", {"t": ["a", "b c"]}, "echo 'a' 'b c'"),
        ("echo {t} end", {}, "echo  end"),
        ("echo --t={t}", {"t": ["a", "b"]}, "echo --t='a' --t='b'"),
        ("echo --t={t}!", {}, "echo "),
        ("echo $HOME{t}", {"t": "x"}, "echo $HOME'x'"),
        ("echo ${HOME} ${A:-${B}} $((1 + (2))) {t}", {"t": "x"}, "echo ${HOME} ${A:-${B}} $((1 + (2))) 'x'"),
        ("awk '{print}' {t}", {"t": "x", "print": "y"}, "awk '{print}' 'x'"),
        (
            'cd "$(git rev-parse --show-toplevel)" && x {t}',
            {"t": "1"},
            "cd \"$(git rev-parse --show-toplevel)\" && x '1'",
        ),
        ("x $(cat {t}) {t}", {"t": "1"}, "x $(cat '1') '1'"),
        ("x `date` {t} # {t}\ny {t}", {"t": "1"}, "x `date` '1' # {t}\ny '1'"),
        ("x \\{t\\} {t}", {"t": "1"}, "x \\{t\\} '1'"),
        ("x \\\n  {t}", {"t": "1"}, "x \\\n  '1'"),
        ("if x {t}; then { y {t}; }; fi", {"t": "1"}, "if x '1'; then { y '1'; }; fi"),
        ("for i in {t}; do echo $i; done", {"t": ["a", "b"]}, "for i in 'a' 'b'; do echo $i; done"),
        ("X={t} cmd", {"t": "1"}, "X='1' cmd"),
        ("x 2>/dev/null {t} >log 2>&1", {"t": "1"}, "x 2>/dev/null '1' >log 2>&1"),
        ("x -- {t}", {"t": "-v"}, "x -- '-v'"),
        ("f() { x {t}; }; f", {"t": "1"}, "f() { x '1'; }; f"),
        ("echo {{t}}; echo {a,b}", {"t": "1"}, "echo {'1'}; echo {a,b}"),
        ("cat <<EOF\n{ x }\nEOF", {}, "cat <<EOF\n{ x }\nEOF"),
    ],
)
def test_renders_shell(script: str, arguments: dict[str, Any], expected: str) -> None:
    assert render(shell(script), arguments) == ("/bin/sh", "-c", expected)
    assert render({"command": script, "shell": True}, arguments) == ("/bin/sh", "-c", expected)


@pytest.mark.parametrize(
    ("script", "value", "pointer", "rule"),
    [
        ("x {t}", "-v", "/t", 'must not begin with "-"'),
        ("x ''{t}", "-v", "/t", 'must not begin with "-"'),
        ("x $EMPTY{t}", "-v", "/t", 'must not begin with "-"'),
        ("x '-'{t}", "v", "/t", 'must not begin with "-"'),
        ("x -- a; y {t}", "-v", "/t", 'must not begin with "-"'),
        ("x $(y --) {t}", "-v", "/t", 'must not begin with "-"'),
        ("npm test -- {t}", "-v", "/t", 'must not begin with "-"'),
        ("x {t}", "@f", "/t", 'must not begin with "@"'),
        ("x {t}", "\x00", "/t", "NUL"),
        ("{t}", "a", "/command/shell", "where the program is named"),
        ("x; {t} y", "a", "/command/shell", "where the program is named"),
        ("if {t}; then y; fi", "a", "/command/shell", "where the program is named"),
        ("A=1 {t}", "a", "/command/shell", "where the program is named"),
        ("A=$(y) {t}", "a", "/command/shell", "where the program is named"),
        ("2>/dev/null {t}", "a", "/command/shell", "where the program is named"),
        (">log {t}", "a", "/command/shell", "where the program is named"),
        ("x | {t}", "a", "/command/shell", "where the program is named"),
        ("x $({t})", "a", "/command/shell", "where the program is named"),
        ("x > {t}", "a", "/command/shell", "target of a redirection"),
        ("x >>{t}", "a", "/command/shell", "target of a redirection"),
        ("x < dir/{t}", "a", "/command/shell", "target of a redirection"),
        ("x &> f {t}", "a", "/command/shell", "&>"),
        ("x $(y {t}){t}", "a", "/command/shell", "put a blank"),
        ("eval x {t}", "a", "/command/shell", "evaluates"),
        ("X=1 eval x {t}", "a", "/command/shell", "evaluates"),
        (". ./lib {t}", "a", "/command/shell", "evaluates"),
        ("if [[ {t} -eq 1 ]]; then x; fi", "a", "/command/shell", "evaluates"),
        ("export {t}", "PATH=/evil", "/command/shell", "name of a variable"),
        ("cat <<EOF\n{t}\nEOF", "a", "/command/shell", "here-document"),
        ("A=(echo {t}", "a", "/command/shell", "no POSIX shell"),
        ("x (echo {t}", "a", "/command/shell", "not closed"),
        ("x $'a' {t}", "a", "/command/shell", "too intricate"),
        ("x 'a {t}", "a", "/command/shell", "too intricate"),
        ('x "$(y "$(z)")" {t}', "a", "/command/shell", "too intricate"),
        ("x ${A:-'{t}'} {t}", "a", "/command/shell", "too intricate"),
        ("x\n(( {t} ))", "a", "/command/shell", "(("),
        ("x {t} \\", "a", "/command/shell", "too intricate"),
    ],
)
def test_refuses_in_shell(script: str, value: str, pointer: str, rule: str) -> None:
    error = refusal(shell(script), {"t": value})
    assert (error.pointer, rule in error.rule) == (pointer, True), error


# --- templates are judged before the first run

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("command", "properties", "pointer", "rule"),
    [
        (["x", "{target}", "{tagret}"], {"target": STRING}, "/command/2", "'tagret'; nearest input: target"),
        (["x"], {"t": STRING}, "/properties/t", "would be ignored"),
        (["{t}"], {"t": STRING}, "/command/0", "a caller never chooses it"),
        (["x", ["-v"]], {}, "/command/1", "a group without a placeholder"),
        (["x", "{t}"], {"t": {"enum": ["-a", "b"]}}, "/command/1", "would always be refused"),
        (["x", "{t}"], {"t": {"type": "string", "default": "@f"}}, "/command/1", "would always be refused"),
        (["x", "{t}"], {"t": {"type": "array", "items": {"enum": ["-a"]}}}, "/command/1", "would always be refused"),
        (["x", "--", "{t}"], {"t": {"const": "@a"}}, "/command/2", "would always be refused"),
        (["x", "-{t}"], {"t": STRING}, "/command/1", "choose an option"),
        (["x", "-q{t}"], {"t": STRING}, "/command/1", "could lengthen the option -q"),
        (["x", "--no-{t}"], {"t": STRING}, "/command/1", "could lengthen the option --no-"),
        (["x", "-q{t}"], {"t": {"type": "array", "items": STRING}}, "/command/1", "could lengthen"),
        (["x", "{a}{b}"], {"a": {"type": "array"}, "b": {"type": "array"}}, "/command/1", "only one list"),
        (["x", "{a}"], {"a": {"type": "array", "items": {"type": "array"}}}, "/command/1", "list of lists"),
        (["sh", "-c", "echo {t}"], {"t": STRING}, "/command/2", "not quoted"),
        (["/bin/bash", "-euc", "echo {t}"], {"t": STRING}, "/command/2", "not quoted"),
        (["python3.12", "-c", "print({t})"], {"t": STRING}, "/command/2", "not quoted"),
        (["docker", "exec", "c", "sh", "-c", "echo {t}"], {"t": STRING}, "/command/5", "not quoted"),
        ({"shell": "x '{t}'"}, {"t": STRING}, "/command/shell", "not replaced"),
        ({"shell": "x {t} # {t}"}, {"t": STRING}, "/command/shell", "not replaced"),
        ({"shell": "x > {t}"}, {"t": STRING}, "/command/shell", "redirection"),
        ({"shell": "x"}, {"t": STRING}, "/properties/t", "would be ignored"),
        ({"shell": "x {u}"}, {}, "/command/shell", "no input is named 'u'"),
    ],
)
def test_check_finds(command: Any, properties: dict[str, Any], pointer: str, rule: str) -> None:
    (problem,) = check_template({"command": command}, {"properties": properties})
    assert problem.pointer == pointer
    assert rule in problem.rule


@pytest.mark.parametrize(
    ("command", "properties", "allowed"),
    [
        (["x", "{t}"], {"t": {"enum": ["a", "b"], "default": "a"}}, []),
        (["x", "{t}", "-{t}"], {"t": {"enum": ["-a"]}}, ["t"]),
        (["x", "--", "{t}"], {"t": {"enum": ["-a"]}}, []),
        (["x", ["--", "{t}"]], {"t": {"enum": ["-a"]}}, []),
        (["x", "-j{n}", "-o{m}"], {"n": {"type": "integer"}, "m": {"enum": ["a"]}}, []),
        (["x", "-DsomeFlag={t}", "--t={t}"], {"t": STRING}, []),
        (["sh", "-c", 'echo "$1"', "sh", "{t}"], {"t": STRING}, []),
        (["bash", "-c", "{t}"], {"t": STRING}, []),
        ({"shell": "awk '{print}' | x {t}"}, {"t": STRING}, []),
    ],
)
def test_check_is_content(command: Any, properties: dict[str, Any], allowed: list[str]) -> None:
    assert check_template({"command": command, "allowOptions": allowed}, {"properties": properties}) == ()


def test_check_reports_everything_at_once() -> None:
    problems = check_template({"command": ["x", "-{a}", "{b}", ["-v"]]}, {"properties": {"a": STRING, "c": STRING}})
    assert [problem.pointer for problem in problems] == ["/command/3", "/command/1", "/command/2", "/properties/c"]


def test_check_survives_a_schema_without_properties() -> None:
    assert check_template({"command": ["x"]}, {}) == ()
    assert check_template({"command": ["x", "{a}"]}, {"properties": {"a": True}}) == ()
    assert len(check_template({"command": ["x", "-q{a}"]}, {"properties": {"a": True}})) == 1


# --- laws

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["-p", "--co", "@f", "", "-"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
elements = st.lists(
    st.sampled_from(["{a}", "{b}", "{a}{b}", "--x={a}", "-{b}", "x/{a}", "lit", "--", "{{", "", "-v", "{c}-{a}"]),
    max_size=5,
)
commands = st.lists(st.sampled_from(["pytest", "npm", "{a}"]), min_size=1, max_size=1).flatmap(
    lambda head: elements.map(lambda rest: [*head, *rest])
)
arguments = st.dictionaries(st.sampled_from(["a", "b", "c"]), json_values)


@given(commands, arguments)
def test_a_value_never_becomes_an_option(command: list[str], given_arguments: dict[str, Any]) -> None:
    """Every element with a dash in front is one that the template itself begins so, or stands behind its mark."""
    try:
        argv = render({"command": command}, given_arguments)
    except CommandTemplateError:
        return
    assert argv[0] == command[0]
    assert not any("\x00" in text for text in argv)
    own = ("--x=", "-v", "--")
    for index, text in enumerate(argv[1:], start=1):
        assert not text.startswith("@")
        marks = argv[:index].count("--")
        assert not text.startswith("-") or text.startswith(own) or marks > (command[0] == "npm")
        if text.startswith("--") and text != "--" and not text.startswith("--x="):
            assert marks > (command[0] == "npm")


@given(
    st.one_of(commands, json_values, st.builds(lambda text: {"shell": text}, st.text())),
    arguments,
    st.one_of(st.just({}), json_values),
    json_values,
)
def test_the_documented_error_is_the_only_one(
    command: Any, given_arguments: dict[str, Any], defaults: Any, allowed: Any
) -> None:
    profile = {"command": command, "defaults": defaults, "allowOptions": allowed, "shell": True}
    check_template(profile, {"properties": given_arguments})
    try:
        argv = render(profile, given_arguments)
    except CommandTemplateError as error:
        assert error.pointer == "" or error.pointer.startswith("/")
        return
    assert argv
    assert all(isinstance(text, str) for text in argv)


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00")).filter(lambda text: text[:1] not in "-@"))
)
def test_a_list_is_one_element_per_item(items: list[str]) -> None:
    assert render({"command": ["x", "{t}"]}, {"t": items}) == ("x", *items)
    assert shlex.split(render(shell("x {t}"), {"t": items})[2]) == ["x", *items]


SHELLS = [path for path in (shutil.which("sh"), shutil.which("bash")) if path]
PAYLOADS = [
    "$(>pwned)",
    "`>pwned`",
    "';>pwned;'",
    '";>pwned;"',
    "\n>pwned\n",
    "a;>pwned",
    "a[$(>pwned)]",
    "'\"$(>pwned)\"'",
    "\\';>pwned #",
    "}$(>pwned)${x",
    ")>pwned\n(",
    "'\n>pwned\n#'",
    "EOF\n>pwned\n",
]
SCRIPT_PIECES = [
    "echo ",
    "{x}",
    " ",
    "'",
    '"',
    "\\",
    "\n",
    "#",
    "$",
    "(",
    ")",
    "$(",
    "${A:-",
    "}",
    "`",
    ";",
    "|",
    "&",
    "a",
]
SCRIPT_PIECES += [
    "<",
    ">/dev/null ",
    "<<EOF\n",
    "EOF\n",
    "((",
    "))",
    "=",
    "{",
    "case a in ",
    "=(",
    "A=(",
    "esac",
    "$'",
    "~",
    "A=",
    "--",
]


@pytest.mark.skipif(not SHELLS, reason="needs a POSIX shell")
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(st.lists(st.sampled_from(SCRIPT_PIECES), max_size=12), st.sampled_from(PAYLOADS))
def test_no_script_runs_a_value_as_code(tmp_path: Path, pieces: list[str], payload: str) -> None:
    """Random scripts that are accepted are run in real shells with hostile values; none of them may act."""
    script = "echo {x} " + "".join(pieces)
    try:
        argv = render(shell(script), {"x": payload})
    except CommandTemplateError:
        assume(False)
    for program in SHELLS:
        subprocess.run(
            [program, "-c", argv[2]],
            cwd=tmp_path,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
        assert not (tmp_path / "pwned").exists(), argv[2]
