"""What a parcel costs."""

import pytest

from parcels.rates import Parcel, TooHeavyError, price


@pytest.mark.parametrize(("grams", "cents"), [(1, 390), (499, 390), (501, 490), (1_500, 650), (4_999, 890)])
def test_price_follows_the_weight(grams: int, cents: int) -> None:
    assert price(Parcel(grams)) == cents


def test_islands_cost_more() -> None:
    assert price(Parcel(300, is_to_island=True)) == 790


def test_bulky_parcels_cost_more() -> None:
    assert price(Parcel(300, longest_side_cm=121)) == 640


def test_surcharges_add_up() -> None:
    assert price(Parcel(300, longest_side_cm=200, is_to_island=True)) == 1_040


def test_a_band_includes_its_upper_border() -> None:
    """The price list says "up to 500 g", so 500 g belong to the first band."""
    assert price(Parcel(500)) == 390


def test_too_heavy_is_refused() -> None:
    with pytest.raises(TooHeavyError):
        price(Parcel(10_001))
