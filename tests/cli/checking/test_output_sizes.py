"""`check` names the files that a run will leave, and their sizes are near the true ones."""

import pytest

from eigenwerk.cli.checking.output_sizes import output_sizes
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_folder

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n"


@pytest.mark.fast("tags2")
@pytest.mark.parametrize(
    "tags",
    [{}, {"ISPIN": 2, "MAGMOM": "1 1", "LWAVE": "F", "LORBIT": 10}, {"LCHARG": "F", "LVHAR": "T", "LH5": "T"},
     {"LORBIT": 12}],
)  # fmt: skip
def test_names_are_those_of_the_run_and_sizes_are_near(tmp_path, tags):
    tags = {"ENCUT": 200, "NBANDS": 8, "ISMEAR": 0, "SIGMA": 0.1, "NELM": 3} | tags
    (tmp_path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in tags.items()))
    (tmp_path / "POSCAR").write_text(POSCAR)
    (tmp_path / "KPOINTS").write_text("mesh\n0\nGamma\n4 4 3\n0 0 0\n")
    sizes = output_sizes(read_inputs(tmp_path))
    written = {name: path.stat().st_size for name, path in run_folder(tmp_path).files.items()}
    del written["eigenwerk-trace.json"]
    assert set(sizes) == set(written)
    if "WAVECAR" in sizes:
        assert sizes["WAVECAR"] == written["WAVECAR"]
    for name, size in sizes.items():
        assert size == pytest.approx(written[name], rel=0.35, abs=20_000), name


def test_of_incomplete_input_nothing_is_said(tmp_path):
    (tmp_path / "INCAR").write_text("ENCUT = 200\n")
    assert output_sizes(read_inputs(tmp_path)) is None
