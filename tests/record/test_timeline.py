"""The timeline keeps the last events in their order, in bounded room."""

import pytest

from eigenwerk.record.packed import unpack
from eigenwerk.record.timeline import Timeline


@pytest.mark.parametrize("count", [0, 1, 4, 5, 7, 8, 21])
def test_the_last_events_are_kept_in_their_order(count):
    timeline = Timeline(limit=4)
    for number in range(count):
        timeline.add(f"event {number % 3}", started=float(number), seconds=number / 8, bytes=number)
    kept = list(range(count))[-4:]
    columns = timeline.as_dict()
    assert len(timeline) == len(kept) and columns["dropped"] == count - len(kept)
    assert [columns["names"][int(place)] for place in unpack(columns["name"])] == [f"event {n % 3}" for n in kept]
    assert unpack(columns["started"]) == pytest.approx(kept)
    assert unpack(columns["seconds"]) == pytest.approx([number / 8 for number in kept])
    assert unpack(columns["bytes"]).tolist() == kept
