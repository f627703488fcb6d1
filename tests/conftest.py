"""What all tests share: one thread, a fixed seed, and the reference data beside the repository."""

import os
import sys
from pathlib import Path

# Before anything loads a numerical library: one thread, so that sums come out in the same order on every machine,
# and tests that run beside others do not fight for cores. Child processes inherit it.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_variable] = "1"

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = str(REPOSITORY / "src")
sys.path.insert(0, SOURCES)  # the tree beside the tests, not an installed copy; for child processes too
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCES, os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder `shared` beside the repository, with reference data of other codes; skips where it is absent.

    A test reads from it as `shared_dir / "reference" / "dft" / "si_diamond_pbe.json"`.
    """
    path = REPOSITORY.parent / "shared"
    if not (path / "reference").is_dir():
        pytest.skip(f"no reference data: {path / 'reference'} does not exist")
    return path


def pytest_collection_modifyitems(items):
    """Skips tests marked `gpu` where there is no GPU; torch is loaded only when there are such tests."""
    gpu_items = [item for item in items if "gpu" in item.keywords]
    if not gpu_items:
        return
    import torch

    if not torch.cuda.is_available():
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason="no GPU that PyTorch can use"))
