"""Waking the GPU before PyTorch: only where one is meant and there, and a driver that fails is left to PyTorch."""

import pytest

from eigenwerk.parallel.launch import early_gpu
from eigenwerk.parallel.launch.gpus import wake_gpu


class Driver:
    """Answers like libcuda; remembers the calls."""

    def __init__(self, answer=0):
        self.answer, self.calls = answer, []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *[word for word in arguments if isinstance(word, int)]))
            return self.answer

        return call


@pytest.fixture
def driver(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(early_gpu.ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(early_gpu, "count_gpus", lambda: 2)
    return driver


@pytest.mark.parametrize(("device", "number"), [("auto", 0), ("cuda", 0), ("cuda:1", 1)])
def test_context_of_the_device_that_is_meant(driver, device, number):
    wake_gpu(device).join(10)
    assert driver.calls == [("cuInit", 0), ("cuDeviceGet", number), ("cuDevicePrimaryCtxRetain",)]


@pytest.mark.parametrize(("rank", "number"), [(0, 0), (1, 1), (2, 0)])
def test_ranks_wake_the_gpus_that_they_will_use(driver, rank, number):
    wake_gpu("auto", rank).join(10)
    assert ("cuDeviceGet", number) in driver.calls


def test_one_gpu_for_all_ranks_is_woken_by_each(driver):
    wake_gpu("cuda:1", 2).join(10)
    assert ("cuDeviceGet", 1) in driver.calls


def test_processor_machine_without_gpu_and_wrong_words_wake_nothing(driver, monkeypatch):
    assert wake_gpu("cpu") is None and wake_gpu("cuda:x") is None
    monkeypatch.setattr(early_gpu, "count_gpus", lambda: 0)
    assert wake_gpu("auto") is None and not driver.calls


def test_driver_that_fails_or_is_missing_is_no_error_here(driver, monkeypatch):
    driver.answer = 100
    wake_gpu("cuda").join(10)
    assert driver.calls == [("cuInit", 0)]

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(early_gpu.ctypes, "CDLL", missing)
    wake_gpu("cuda").join(10)
