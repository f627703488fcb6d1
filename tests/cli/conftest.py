"""A small folder for runs on several ranks."""

import pytest

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n"
INCAR = {"ENCUT": 150, "EDIFF": "1E-5", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6}


@pytest.fixture
def folder(tmp_path):
    """Makes a small folder; tags replace and add to INCAR."""

    def make(**tags):
        path = tmp_path / "case"
        path.mkdir(exist_ok=True)
        (path / "POSCAR").write_text(POSCAR)
        (path / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 1\n")
        (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
        return path

    return make
