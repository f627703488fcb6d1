"""A run with LORBIT: what it returns, what the files hold, and bands at k-points of their own."""

import json

import numpy as np
import pytest

from eigenwerk.cli.running.text import summary
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.io.hdf5.hdf5_state import read_state
from when_used import when_used

Outcar = when_used("pymatgen.io.vasp.outputs", "Outcar")
Procar = when_used("pymatgen.io.vasp.outputs", "Procar")
Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
LIST = "points\n4\nReciprocal\n0 0 0 1\n.1 0 0 0\n.5 0 0 4\n.5 .5 0 3\n"
PATH = "path\n3\nline\nreciprocal\n0 0 0 G\n.5 0 .5 X\n"


def run(path, lines="", kpoints="mesh\n0\nGamma\n2 2 2\n"):
    (path / "INCAR").write_text(f"ENCUT = 200\nNBANDS = 8\nISMEAR = 0\nSIGMA = 0.1\nLCHARG = F\nLWAVE = F\n{lines}")
    (path / "POSCAR").write_text(POSCAR)
    (path / "KPOINTS").write_text(kpoints)
    return run_folder(path)


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    """On the reduced mesh, with a path beside it."""
    folder = tmp_path_factory.mktemp("mesh")
    (folder / "KPOINTS_OPT").write_text(PATH)
    return run(folder, "LORBIT = 11\n")


def test_files_and_results_hold_the_same_weights(mesh):
    weight_sknaL = mesh.projections.weight_sknaL
    procar, xml = Procar(str(mesh.files["PROCAR"])), Vasprun(
        mesh.files["vasprun.xml"], parse_projected_eigen=True, parse_potcar_file=False
    )  # fmt: skip
    for spin, value_knaL in procar.data.items():
        np.testing.assert_allclose(value_knaL, weight_sknaL[0], atol=6e-4)
        np.testing.assert_allclose(xml.projected_eigenvalues[spin], weight_sknaL[0], atol=6e-5)
    tree = read_state(mesh.files["eigenwerk.h5"])
    # files have no columns of f for data sets without projectors of f; the state keeps all
    np.testing.assert_array_equal(tree["projections"]["weight_sknaL"][..., :9], weight_sknaL)


def test_path_beside_the_mesh_has_weights_of_its_own(mesh):
    xml = Vasprun(mesh.files["vasprun.xml"], parse_projected_eigen=True, parse_potcar_file=False)
    (weight_knaL,) = xml.kpoints_opt_props.projected_eigenvalues.values()
    (procar_knaL,) = Procar(str(mesh.files["PROCAR_OPT"])).data.values()
    np.testing.assert_allclose(weight_knaL, procar_knaL, atol=6e-4)
    # Γ is on the mesh as well; the three highest filled bands there are equal, so their sum counts
    ours_naL = mesh.projections.weight_sknaL[0, 0]
    np.testing.assert_allclose(weight_knaL[0, :4].sum((0, 1)), ours_naL[:4].sum((0, 1)), atol=1e-3)


def test_charges_are_integrals_of_the_densities_of_states(mesh):
    xml = Vasprun(mesh.files["vasprun.xml"], parse_potcar_file=False)
    charges, symbols = mesh.charges, mesh.symbols
    for l, dos in enumerate(xml.complete_dos.get_spd_dos().values()):
        (density_x,) = dos.densities.values()
        filled = dos.energies <= mesh.fermi_level
        step = dos.energies[1] - dos.energies[0]
        assert density_x[filled].sum() * step == pytest.approx(charges.electrons_al[:, l].sum(), abs=0.01)
    np.testing.assert_allclose(charges.electrons_al[0], charges.electrons_al[1], atol=1e-6)
    assert charges.between == pytest.approx(8 - charges.electrons_al.sum())
    outcar = Outcar(mesh.files["OUTCAR"])
    assert [row["tot"] for row in outcar.charge] == pytest.approx(charges.electrons_al[:, :3].sum(1), abs=1e-5)
    text = "\n".join(summary(mesh, mesh.folder, []))
    assert "Electrons in spheres about the atoms" in text and f"{charges.radius_a[0]:.3f}" in text
    document = json.loads(json.dumps(mesh.as_dict()["spheres"]))
    assert document["columns"] == ["s", "p", "d", "f"] and len(document["electrons"]) == len(symbols)


@pytest.mark.slow
def test_points_of_weight_zero_stand_where_the_list_has_them(mesh, tmp_path):
    result = run(tmp_path, "LORBIT = 11\n", LIST)
    weight_sknaL = result.projections.weight_sknaL
    assert weight_sknaL.shape[1] == 4 and result.weight_k[1] == 0
    ours_knaL, mesh_knaL = weight_sknaL[0], mesh.projections.weight_sknaL[0]
    np.testing.assert_allclose(ours_knaL[0].sum((0, 1)), mesh_knaL[0].sum((0, 1)), atol=1e-3)
    assert result.charges.electrons_al == pytest.approx(mesh.charges.electrons_al, abs=1e-4)


@pytest.mark.slow
def test_a_density_that_is_kept_gives_weights_and_densities_of_states(mesh, tmp_path):
    (tmp_path / "eigenwerk.h5").write_bytes(mesh.files["eigenwerk.h5"].read_bytes())
    result = run(tmp_path, "ICHARG = 11\nLORBIT = 10\n")
    found_skna = result.projections.weight_sknaL.sum(-1)
    wanted_skna = mesh.projections.weight_sknaL.sum(-1)
    np.testing.assert_allclose(found_skna[:, :, :4].sum(2), wanted_skna[:, :, :4].sum(2), atol=1e-3)
    assert result.charges.electrons_al == pytest.approx(mesh.charges.electrons_al, abs=1e-3)
    assert result.projections.columns == ("s", "p", "d")


@pytest.mark.slow
def test_without_lorbit_there_is_nothing(tmp_path):
    result = run(tmp_path)
    assert result.projections is None and result.charges is None and "PROCAR" not in result.files
    assert result.as_dict()["spheres"] is None
