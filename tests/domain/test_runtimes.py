"""What is agreed at an attach."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from ringback.domain.errors import ProtocolVersionError
from ringback.domain.runtimes import (
    CAPABILITIES_MAX,
    CORE,
    LEVELS,
    PLATFORM,
    SURFACES,
    capability_flaws,
    negotiate,
    set_name_of,
)

NAMES = (*CORE, *PLATFORM, "tool.call2", "x", "space.rocket")
OFFERED = st.lists(
    st.fixed_dictionaries(
        {"surface": st.sampled_from(SURFACES), "name": st.sampled_from(NAMES), "supportLevel": st.sampled_from(LEVELS)}
    ),
    unique_by=lambda each: (each["surface"], each["name"]),
)


@given(OFFERED, st.randoms())
def test_what_is_agreed_is_what_both_know(offered: list[dict[str, str]], chance: Any) -> None:
    agreed = negotiate(offered)
    said = {(each["surface"], each["name"]): each["supportLevel"] for each in offered}
    assert {each.name for each in agreed if each.surface == "core"} >= set(CORE)
    assert set(said) <= {(each.surface, each.name) for each in agreed}
    for each in agreed:
        known = CORE if each.surface == "core" else PLATFORM
        if each.name in known:
            assert each.level == said.get((each.surface, each.name), "unsupported")
        else:
            assert each.level == "unsupported"
    chance.shuffle(offered)
    again = negotiate([each.shown() for each in agreed])
    assert again == agreed == negotiate(offered)
    assert set_name_of(again) == set_name_of(agreed)


@given(OFFERED)
def test_sound_descriptors_have_no_flaw(offered: list[dict[str, str]]) -> None:
    assert list(capability_flaws(offered)) == []


GOOD = {"surface": "core", "name": "tracing", "supportLevel": "native"}
WRONG: list[tuple[list[dict[str, Any]], str]] = [
    ([GOOD | {"surface": "moon"}], "/capabilities/0/surface"),
    ([GOOD, GOOD | {"name": "kv.read", "supportLevel": "perhaps"}], "/capabilities/1/supportLevel"),
    ([GOOD | {"name": "Tracing"}], "/capabilities/0/name"),
    ([GOOD | {"name": 7}], "/capabilities/0/name"),
    ([GOOD | {"name": "a" * 101}], "/capabilities/0/name"),
    ([GOOD, GOOD], "/capabilities/1/name"),
    ([{}], "/capabilities/0/surface"),
    ([GOOD] * (CAPABILITIES_MAX + 1), "/capabilities"),
]


@pytest.mark.parametrize(("offered", "pointer"), WRONG)
def test_a_wrong_descriptor_is_named(offered: list[dict[str, Any]], pointer: str) -> None:
    assert next(capability_flaws(offered)).pointer == pointer


def test_different_sets_have_different_names() -> None:
    assert set_name_of(negotiate([])) != set_name_of(negotiate([GOOD]))


def test_a_refused_version_says_which_are_spoken() -> None:
    error = ProtocolVersionError(7, (1, 2))
    assert (str(error), error.flaws[0].pointer) == (
        "/protocolVersion: 7 is not spoken here; this server speaks 1, 2",
        "/protocolVersion",
    )
