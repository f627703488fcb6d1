"""Numbers of many calls stay in bounded memory, and ranks keep the same calls."""

import pytest

from eigenwerk.record.traffic import Samples


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 15, 16, 17, 33, 1000])
def test_samples_are_every_stride_th_number_in_bounded_room(count):
    samples = Samples(8, range(count))
    assert samples.count == count and len(samples.values) <= 8
    assert list(samples.values) == list(range(0, count, samples.stride))


def test_half_of_the_room_is_used_at_least():
    assert all(len(Samples(8, range(count)).values) >= 4 for count in range(8, 200))
