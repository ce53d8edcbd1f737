"""The slow suite: it takes about nine seconds, so that there is something to watch."""

import pytest

from parcels.depot import Depot

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("region", ["10", "20", "30", "40", "50", "60"])
def test_a_region_is_sorted_into_one_bin(region: str) -> None:
    depot = Depot(seconds_per_parcel=0.25)
    assert depot.sort((f"{region}{street:03}", street) for street in range(4)) == 4
    assert dict(depot.bins) == {region: [0, 1, 2, 3]}


def test_a_mixed_belt_keeps_its_order() -> None:
    depot = Depot(seconds_per_parcel=0.2)
    depot.sort([("10115", 1), ("20095", 2), ("10117", 3), ("20097", 4)] * 3)
    assert depot.bins["10"] == [1, 3] * 3
    assert depot.bins["20"] == [2, 4] * 3
