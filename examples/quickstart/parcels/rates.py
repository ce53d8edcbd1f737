"""The price of a parcel, in cents."""

from dataclasses import dataclass

# Up to this many grams, this many cents.
BANDS = ((500, 390), (1_000, 490), (2_000, 650), (5_000, 890), (10_000, 1_290))
SURCHARGE_ISLAND = 400
SURCHARGE_BULKY = 250
BULKY_CM = 120


class TooHeavyError(ValueError):
    """Nobody carries such a parcel."""


@dataclass(frozen=True)
class Parcel:
    grams: int
    longest_side_cm: int = 30
    is_to_island: bool = False


def price(parcel: Parcel) -> int:
    """The price in cents, surcharges included."""
    for grams_max, cents in BANDS:
        if parcel.grams < grams_max:
            return cents + _surcharges(parcel)
    raise TooHeavyError(f"{parcel.grams} g is more than {BANDS[-1][0]} g")


def _surcharges(parcel: Parcel) -> int:
    island = SURCHARGE_ISLAND if parcel.is_to_island else 0
    bulky = SURCHARGE_BULKY if parcel.longest_side_cm > BULKY_CM else 0
    return island + bulky
