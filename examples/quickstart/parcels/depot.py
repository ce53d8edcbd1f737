"""A depot whose belt moves one parcel at a time, so that sorting takes a while: the slow part of the tests."""

import time
from collections import defaultdict
from collections.abc import Iterable


class Depot:
    def __init__(self, seconds_per_parcel: float) -> None:
        self.seconds_per_parcel = seconds_per_parcel
        self.bins: dict[str, list[int]] = defaultdict(list)

    def sort(self, parcels: Iterable[tuple[str, int]]) -> int:
        """Put each (postcode, number) into the bin of its region; returns how many were moved."""
        moved = 0
        for postcode, number in parcels:
            time.sleep(self.seconds_per_parcel)
            self.bins[postcode[:2]].append(number)
            moved += 1
        return moved
