"""Other programs' readers, loaded when a test uses them: PyTorch and eigenwerk are enough to load the tests.

    Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")

A test that uses one which is not installed is skipped with the reason.
"""

import pytest


class when_used:
    """A class or function of a module, which is loaded by the first call or the first look at an attribute."""

    def __init__(self, module, name):
        self._place = module, name

    @property
    def itself(self):
        module, name = self._place
        return getattr(pytest.importorskip(module, reason=f"{module.split('.')[0]} is not installed"), name)

    def __call__(self, *args, **kwargs):
        return self.itself(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("_") or name == "pytestmark":  # which pytest looks for when it loads a file
            raise AttributeError(name)
        return getattr(self.itself, name)
