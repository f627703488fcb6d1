"""A folder of which there is no series."""

import pytest


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
