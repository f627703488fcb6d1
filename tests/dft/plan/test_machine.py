"""Figures of a device that depend on what is installed."""

import sys

import pytest

from eigenwerk.dft.plan.machine import programs_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no builds with CUDA")
def test_builds_with_cuda_load_more():
    plain, marked, unmarked = (programs_bytes(version) for version in ("2.13.0+cpu", "2.11.0+cu130", "2.13.0"))
    assert 200e6 < marked - plain < 320e6 and unmarked == marked
