"""Columns of numbers come back to a nanosecond, are small, and do not come back damaged."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenwerk.record.packed import pack, unpack


@given(st.lists(st.floats(-1e6, 1e6), max_size=50))
def test_columns_survive_json_to_half_a_nanosecond(values):
    back_x = unpack(json.loads(json.dumps(pack(values))))
    assert back_x.shape == (len(values),)
    assert np.allclose(back_x, values, rtol=1e-15, atol=0.51e-9)


@given(st.lists(st.integers(-(2**40), 2**40), max_size=50))
def test_whole_numbers_are_exact(values):
    assert unpack(pack(values, 1)).tolist() == values


def test_moments_a_microsecond_apart_take_few_bytes_each():
    moments = 1e5 + np.cumsum(np.random.default_rng(0).uniform(1e-6, 1e-4, 10_000))
    assert len(pack(moments)["packed"]) < 5 * len(moments)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match="finite"):
        pack([1.0, value])


@pytest.mark.parametrize(
    "spoiled",
    [{}, {"packed": "AAAA"}, {"count": 4}, {"packed": None}, {"packed": "§"}, {"packed": pack([1.0])["packed"][:-4]}],
)
def test_damaged_columns_are_refused(spoiled):
    column = {**pack([1.0, 2.0, 3.0]), **spoiled} if spoiled else {}
    with pytest.raises(ValueError, match="column"):
        unpack(column)
