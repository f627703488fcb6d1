"""What a GPU is made ready with: valid calls, no effect on processors, errors left to the calculation."""

import threading

import pytest
import torch

from eigenwerk.dft.runs import warm_up
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.functionals.table import find_functional


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("functional", ["PE", "CA"])
def test_all_calls_are_valid(functional, spins, monkeypatch):
    monkeypatch.setattr(warm_up, "can_compile", lambda: True)
    warm_up._compile(find_functional(functional), spins, torch.device("cpu"))
    warm_up._load_libraries(torch.device("cpu"))


def test_processor_needs_nothing(monkeypatch):
    monkeypatch.setattr(warm_up, "_begin", lambda *words: pytest.fail("begun"))
    warm_up.warm_up(torch.device("cpu"), Parameters(cutoff=10.0, electrons=2.0, bands=2))


def test_error_of_a_thread_is_left_to_the_calculation(monkeypatch):
    def fail(device):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(warm_up._in_silence(fail, torch.device("cpu"))))
    thread.start()
    thread.join()
    assert ended == [None]
