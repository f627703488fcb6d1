"""A small folder, and one of which there is no series."""

import pytest

FILES = {
    "INCAR": "ENCUT = 180\nISMEAR = 0\nSIGMA = 0.05\n",
    "POSCAR": "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n",
    "KPOINTS": "mesh\n0\nGamma\n2 2 2\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def path(folder):
    """The folder of a test with IMAGES, and two different structures with one between."""
    for number, place in enumerate((0.25, 0.26, 0.27)):
        (folder / f"{number:02d}").mkdir()
        text = (folder / "POSCAR").read_text().replace(".25 .25 .25", f"{place} {place} .25")
        (folder / f"{number:02d}" / "POSCAR").write_text(text)
    (folder / "POSCAR").unlink()
    with (folder / "INCAR").open("a") as incar:
        incar.write("IMAGES = 1\nIBRION = 2\n")
    return folder
