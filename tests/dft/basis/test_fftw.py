"""FFTW serves where it was faster in a measurement that is made once and kept."""

import subprocess
import sys

import pytest
import torch

from eigenwerk.dft.basis import fftw
from eigenwerk.dft.basis.fftw import for_thread, library

pytest.importorskip("pyfftw", reason="pyFFTW is not installed")

ARRAY = torch.zeros(2, dtype=torch.complex128)


@pytest.fixture
def new_process(monkeypatch, tmp_path):
    """Forgets what was chosen and planned, all but what is on the disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def forget():
        monkeypatch.setattr(fftw, "_CHOSEN", {})
        monkeypatch.setattr(fftw, "_OF_THREAD", type(fftw._OF_THREAD)())

    forget()
    return forget


@pytest.mark.parametrize(("times", "chosen"), [((1.0, 2.0), "FFTW"), ((2.0, 1.0), "PyTorch")])
def test_faster_library_is_chosen_by_a_measurement_that_is_kept(new_process, times, chosen):
    measured, made = [], []

    def measure():
        measured.append(1)
        return times

    def make(direction):
        made.append(direction)
        return direction

    for _ in range(2):
        new_process()
        assert library() == "PyTorch"
        for direction in ("there", "back", "there"):
            expected = direction if chosen == "FFTW" else None
            assert for_thread(("some", 3), direction, ARRAY, make, measure) == expected
        assert library() == chosen
    assert len(measured) == 1
    assert made == (["there", "back"] * 2 if chosen == "FFTW" else [])
    other = for_thread(("others", 3), "there", ARRAY, make, lambda: times[::-1])
    assert other == (None if chosen == "FFTW" else "there")


@pytest.mark.parametrize("why", ["not installed", "not on a processor", "single precision"])
def test_nothing_is_measured_where_fftw_does_nothing(monkeypatch, new_process, why):
    array = ARRAY
    if why == "not installed":
        monkeypatch.setattr(fftw, "pyfftw", None)
    if why == "not on a processor":
        array = ARRAY.to("meta")
    if why == "single precision":
        array = ARRAY.to(torch.complex64)
    planned, timed = lambda direction: pytest.fail("planned"), lambda: pytest.fail("timed")
    assert for_thread("kind", "there", array, planned, timed) is None


@pytest.mark.slow
def test_measurements_of_orbitals_and_fields_find_times():
    """In a process of its own, whose cache is empty."""
    code = """
import torch
from eigenwerk.dft.basis.orbital_fft import FilledGrid, _times
print(all(0 < seconds < 1 for seconds in _times(FilledGrid((12, 12, 12), (4, 4, 4), (9, 9, 9)), "complex128")))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True"]
