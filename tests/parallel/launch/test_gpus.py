"""GPUs are counted without loading PyTorch, as PyTorch would count them."""

import subprocess
import sys

import pytest

from eigenwerk.parallel.launch import gpus
from eigenwerk.parallel.launch.gpus import count_gpus, smallest_memory_of_gpus


@pytest.fixture
def devices(tmp_path, monkeypatch):
    """A made-up /dev with four GPUs, and a PyTorch made for CUDA."""
    monkeypatch.setattr(gpus, "torch_knows_cuda", lambda: True)
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidia3", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("visible", "count"),
    [(None, 4), ("", 0), ("0", 1), ("2,0", 2), ("0,1,2,3", 4), ("-1", 0), ("0,9,1", 1), ("GPU-1a2b,GPU-3c", 2)],
)
def test_visible_gpus(devices, visible, count):
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert count_gpus(environ, devices) == count


def test_none_where_pytorch_is_made_for_processors(devices, monkeypatch):
    monkeypatch.setattr(gpus, "torch_knows_cuda", lambda: False)
    assert count_gpus({}, devices) == 0


@pytest.mark.slow
def test_agrees_with_pytorch_without_loading_it():
    code = (
        "import sys; from eigenwerk.parallel.launch.gpus import count_gpus, torch_knows_cuda\n"
        "count, knows = count_gpus(), torch_knows_cuda()\n"
        "assert 'torch' not in sys.modules\n"
        "import torch\n"
        "assert knows == (torch.version.cuda is not None), knows\n"
        "assert count == torch.cuda.device_count(), count\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Driver:
    """Answers like libcuda on a machine with GPUs of these bytes."""

    def __init__(self, *memory, answer=0):
        self.memory, self.answer = memory, answer

    def cuInit(self, flags):
        return self.answer

    def cuDeviceGetCount(self, count):
        count._obj.value = len(self.memory)
        return 0

    def cuDeviceGet(self, handle, number):
        handle._obj.value = number
        return 0

    def cuDeviceTotalMem_v2(self, total, handle):
        total._obj.value = self.memory[handle.value]
        return 0


def test_memory_is_that_of_the_smallest_gpu(monkeypatch):
    monkeypatch.setattr(gpus.ctypes, "CDLL", lambda name: Driver(80 * 2**30, 40 * 2**30, 80 * 2**30))
    assert smallest_memory_of_gpus() == 40 * 2**30


def test_memory_is_unknown_without_a_driver_or_where_it_refuses(monkeypatch):
    monkeypatch.setattr(gpus.ctypes, "CDLL", lambda name: Driver(answer=100))
    assert smallest_memory_of_gpus() is None
    monkeypatch.setattr(gpus.ctypes, "CDLL", lambda name: Driver())
    assert smallest_memory_of_gpus() is None, "a driver without GPUs"

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(gpus.ctypes, "CDLL", missing)
    assert smallest_memory_of_gpus() is None
