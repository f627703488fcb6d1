"""Modules that PyTorch loads without need wait until they are used, and are then what they always were."""

import gc
import json
import subprocess
import sys

import pytest

from eigenwerk.cli.quick_imports import TRIED, UNUSED, quick_imports, unused_parts


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `big` that loads its part `heavy`, which tells that it was loaded."""
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "__init__.py").write_text("import big.heavy\nfrom big import heavy as part\n")
    (tmp_path / "big" / "heavy.py").write_text("import sys\nsys.loaded_heavy = True\nvalue = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "loaded_heavy", False, raising=False)
    yield
    for name in ("big", "big.heavy"):
        sys.modules.pop(name, None)


def test_module_loads_when_it_is_used_and_not_when_it_is_looked_at(package):
    with quick_imports(frozenset({"big.heavy", "big.nothing"})):
        import big
    assert big.part is sys.modules["big.heavy"] and not sys.loaded_heavy
    assert big.part.__file__.endswith("heavy.py") and not hasattr(big.part, "__wrapped__") and not sys.loaded_heavy
    assert big.heavy.value == 7 and sys.loaded_heavy
    with pytest.raises(AttributeError, match="nonsense"):
        _ = big.heavy.nonsense


def test_names_taken_from_a_module_load_it(package):
    with quick_imports(frozenset({"big.heavy"})):
        from big.heavy import value
    assert value == 7 and sys.loaded_heavy


def test_afterwards_imports_and_garbage_are_as_before(package):
    finders = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), quick_imports(frozenset({"big.heavy"})):
        assert not gc.isenabled()
        _ = 1 / 0
    assert sys.meta_path == finders and gc.isenabled()
    import big

    assert big.heavy.value == 7


TORCH = """
import json, sys
from eigenwerk.cli.quick_imports import UNUSED, quick_imports
with quick_imports():
    import torch
waiting = [name for name in UNUSED if type(sys.modules.get(name)).__name__ == "_PutOff"]
x = torch.randn(4, 4, dtype=torch.complex128)
torch.linalg.eigh(x + x.mH)
assert torch.distributions.Normal(0.0, 1.0).mean == 0 and torch.optim.SGD and torch.export.export
assert torch.utils.data.DataLoader([1, 2])
from torch import _meta_registrations
assert _meta_registrations.meta_mm
assert torch.empty(3, 4, device="meta").mm(torch.empty(4, 5, device="meta")).shape == (3, 5)
print(json.dumps(waiting))
"""


@pytest.fixture
def installed_torch(tmp_path, monkeypatch):
    """A folder `torch` with nothing but the file that holds its version, before the real one."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "torch" / "version.py"


@pytest.mark.parametrize("version", ["2.11.0", "2.13.0+cpu", "2.15.1+cu132"])
def test_tried_versions_of_pytorch_put_their_unused_parts_off(installed_torch, version):
    installed_torch.write_text(f"__all__ = []\n__version__ = '{version}'\ndebug = False\n")
    assert unused_parts() == UNUSED


@pytest.mark.parametrize("words", ["__version__ = '2.99.0'", "__version__ = '2.1.1'", "version = 3", None])
def test_pytorch_of_an_unknown_version_is_loaded_whole(installed_torch, words):
    if words:
        installed_torch.write_text(words)
    assert unused_parts() == frozenset()


def test_without_pytorch_nothing_is_put_off(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    assert unused_parts() == frozenset()


@pytest.mark.skipif(unused_parts() != UNUSED, reason=f"PyTorch is none of {', '.join(sorted(TRIED))}")
def test_pytorch_puts_its_unused_parts_off_and_has_them_all():
    done = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(done.stdout)) == sorted(UNUSED)
