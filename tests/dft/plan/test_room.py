"""A run that would not fit is refused before it starts; one that fits in smaller blocks gets smaller blocks."""

import shutil

import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import processor
from eigenwerk.dft.plan.plan import plan_layout
from eigenwerk.dft.plan.room import with_room
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.errors import InputError
from eigenwerk.parallel.memory import device_memory
from eigenwerk.parallel.runtime import Runtime


@pytest.fixture
def iron(repository, tmp_path):
    return shutil.copytree(repository / "examples" / "03_iron_magnet", tmp_path / "iron")


def has_memory(monkeypatch, count):
    monkeypatch.setattr(device_memory, "installed_memory", lambda: count)


def test_a_run_without_room_is_refused_and_writes_nothing(iron, monkeypatch):
    before = sorted(path.name for path in iron.iterdir())
    has_memory(monkeypatch, 3e8)
    with pytest.raises(InputError, match=r"This run needs 0\.4 GB on each of 1 rank .*, and there are 0\.3 GB"):
        run_folder(iron)
    assert sorted(path.name for path in iron.iterdir()) == before


def test_plenty_of_room_changes_nothing(iron, monkeypatch):
    has_memory(monkeypatch, 1e12)
    runtime = Runtime()
    assert with_room(read_inputs(iron).size, runtime) is runtime


def test_unknown_memory_is_no_reason_to_refuse(iron, monkeypatch):
    has_memory(monkeypatch, None)
    runtime = Runtime()
    assert with_room(read_inputs(iron).size, runtime) is runtime


def test_blocks_shrink_to_the_room_there_is(repository, monkeypatch):
    """Eight k-points of silicon with 200 bands would be solved in one block."""
    size = read_inputs(repository / "examples" / "01_silicon_pbe").size
    size = type(size)(**{**size.__dict__, "bands": 200})
    one = plan_layout(size, ProcessLayout(), processor(1.0)).memory.total
    usual = plan_layout(size, ProcessLayout(), processor(1e12))
    assert usual.block == 8
    has_memory(monkeypatch, (one + usual.memory.total) / 2)
    limit = with_room(size, Runtime()).block_limit
    per_point = 16 * size.bands * size.plane_waves
    assert limit is not None and per_point <= limit < 8 * per_point
    assert Runtime(block_limit=limit).block_bytes == limit
