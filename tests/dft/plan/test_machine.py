"""Figures of a device that depend on what is installed."""

import torch

from eigenwerk.dft.plan.machine import has_cuda_build, names_cuda, processor


def test_the_build_of_pytorch_is_told_without_loading_it():
    assert has_cuda_build() is (torch.version.cuda is not None)
    assert names_cuda("from typing import Optional\ncuda: Optional[str] = '13.0'\nhip = None\n")
    assert not names_cuda("cuda: Optional[str] = None\nhip: Optional[str] = '6.4'\n")


def test_builds_with_cuda_load_more(monkeypatch):
    monkeypatch.setattr("eigenwerk.dft.plan.machine.has_cuda_build", lambda: True)
    marked = processor(1e9).programs
    monkeypatch.setattr("eigenwerk.dft.plan.machine.has_cuda_build", lambda: False)
    assert 200e6 < marked - processor(1e9).programs < 320e6
