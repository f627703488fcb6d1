"""A job that plans are made of."""

import pytest

from eigenwerk.dft.inputs.inputs import read_inputs

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


@pytest.fixture
def size(tmp_path):
    """Of two silicon atoms on a mesh of 8 x 8 x 8."""
    for name, text in {"POSCAR": POSCAR, "INCAR": "ENCUT = 250\n", "KPOINTS": "m\n0\nGamma\n8 8 8\n"}.items():
        (tmp_path / name).write_text(text)
    return read_inputs(tmp_path).size
