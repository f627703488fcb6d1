"""CUDA sources compiled at run time: once, whoever asks; on a GPU from the disk in the next process."""

import os
import subprocess
import sys
import threading
import time

import pytest
import torch

from eigenwerk.parallel.kernels import cuda as cuda_kernels
from eigenwerk.parallel.kernels.cuda import kernel


def test_threads_that_ask_at_once_compile_once_and_others_do_not_wait(monkeypatch):
    compiled, begun, go_on = [], threading.Event(), threading.Event()

    class Driver:
        """Functions of a module are its name and theirs."""

        def cuModuleGetFunction(self, module, name):
            return 0, (module, name)

    def load(source, device, macros):
        compiled.append(source)
        if source == "slow":
            begun.set()
            assert go_on.wait(10)
        return Driver(), object()

    monkeypatch.setattr(cuda_kernels, "_load", load)
    monkeypatch.setattr(cuda_kernels, "_modules", {})
    found = []
    threads = [threading.Thread(target=lambda: found.append(kernel("slow", "f", 0))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    kernel("quick", "f", 0)
    time.sleep(0.05)
    assert not found
    go_on.set()
    for thread in threads:
        thread.join()
    assert compiled == ["slow", "quick"] and len({one.function for one in found}) == 1
    assert kernel("slow", "f", 0).function == found[0].function
    assert kernel("slow", "g", 0).function == (found[0].function[0], b"g")
    assert compiled == ["slow", "quick"]


TWICE = """
import sys, torch
from eigenwerk.parallel.kernels import cuda as cuda_kernels
if sys.argv[1] == "again":
    def fail(*words): raise AssertionError("compiled again")
    cuda_kernels._compile = fail
source = 'extern "C" __global__ void twice(double* x) { x[threadIdx.x] *= 2; }'
x = torch.arange(4, dtype=torch.float64, device="cuda")
cuda_kernels.kernel(source, "twice", 0)((1, 1, 1), 4, cuda_kernels.pointer(x))
print(x.tolist())
"""


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_next_process_runs_the_kernel_without_compiling(tmp_path):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    for word in ("first", "again"):
        done = subprocess.run([sys.executable, "-c", TWICE, word], env=environment, capture_output=True, text=True)
        assert done.stdout.strip() == "[0.0, 2.0, 4.0, 6.0]", done.stderr
