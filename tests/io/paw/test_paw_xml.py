"""PAW-XML: every set of gpaw-data is whole and means what the format says; damage is named."""

import gzip
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from gpaw_data import datapath

from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import PawDataset, PawHeader, split_dataset_name
from eigenwerk.io.paw.paw_library import list_datasets
from eigenwerk.io.paw.paw_xml import read_paw_header, read_paw_xml

SILICON = datapath() / "Si.PBE.gz"


@pytest.fixture
def silicon_xml() -> ET.Element:
    return ET.fromstring(gzip.decompress(SILICON.read_bytes()))


def write(root: ET.Element, folder: Path) -> Path:
    path = folder / "Si.PBE"
    path.write_bytes(ET.tostring(root))
    return path


def sum_over_grid(data: PawDataset, f_g: np.ndarray) -> np.ndarray:
    return f_g @ (data.grid.r_g**2 * data.grid.dr_g)


@pytest.mark.fast("LDA")
@pytest.mark.parametrize("functional", ["PBE", "LDA"])
def test_every_set_counts_its_electrons_and_has_dual_projectors(functional):
    entries = list_datasets(functional)
    assert len(entries) == 109
    for entry in entries:
        data = read_paw_xml(entry.file)
        assert (data.symbol, data.variant, data.functional) == (entry.element, entry.variant, functional)
        assert data.core + data.valence == data.Z
        assert sum(state.f for state in data.states) == data.valence
        # Densities are radial parts: times Y_00 they hold the core electrons.
        electrons = np.sqrt(4 * np.pi) * sum_over_grid(data, data.ae_core_density_g)
        assert electrons == pytest.approx(data.core, abs=1e-11), data.name
        l_j = np.array([state.l for state in data.states])
        dual_jj = sum_over_grid(data, data.projector_jg[:, None] * data.pseudo_partial_wave_jg)
        same_l_jj = l_j[:, None] == l_j
        assert np.abs(np.where(same_l_jj, dual_jj, 0) - np.eye(len(l_j))).max() < 1e-11, data.name
        bound = [j for j, state in enumerate(data.states) if state.f > 0]
        assert sum_over_grid(data, data.ae_partial_wave_jg[bound] ** 2) == pytest.approx(1, abs=1e-11), data.name


@pytest.mark.slow
@pytest.mark.parametrize("functional", ["PBE", "LDA"])
def test_every_set_has_consistent_energies_and_matrices(functional):
    for entry in list_datasets(functional):
        data = read_paw_xml(entry.file)
        energy = data.ae_energy
        assert energy.kinetic + energy.xc + energy.electrostatic == pytest.approx(energy.total, abs=2e-6), data.name
        assert 0 <= data.core_kinetic_energy < energy.kinetic
        l_j = np.array([state.l for state in data.states])
        for matrix_jj in (data.kinetic_energy_difference_jj, data.exact_exchange_jj):
            np.testing.assert_array_equal(matrix_jj, matrix_jj.T, err_msg=data.name)
            assert not matrix_jj[l_j[:, None] != l_j].any(), data.name
        assert data.core_core_exchange <= 0
        waves_differ_jg = np.abs(data.ae_partial_wave_jg - data.pseudo_partial_wave_jg)
        outside_g = data.grid.r_g > max(state.rc for state in data.states) + 0.01
        near_g = outside_g & (data.grid.r_g < 6)
        assert waves_differ_jg[:, near_g].max() < 1e-8, data.name


@pytest.mark.parametrize("name", ["H.LDA", "Si.PBE", "O.RPBE", "Ce.PBE", "Cr.14.PBE"])
def test_header_equals_the_header_of_the_full_read(name):
    header, data = read_paw_header(datapath() / f"{name}.gz"), read_paw_xml(datapath() / f"{name}.gz")
    assert header == PawHeader(**{key: getattr(data, key) for key in vars(header)})
    assert header.name == name


def test_both_dialects_give_the_numbers_of_the_file():
    old, new = read_paw_xml(SILICON), read_paw_xml(datapath() / "Ce.PBE.gz")
    assert (old.dialect, new.dialect) == ("paw_setup 0.6", "paw_dataset 0.7")
    assert (old.grid.eq, old.grid.r_g.size, new.grid.eq, new.grid.r_g.size) == (
        "r=a*i/(n-i)", 450, "r=a*i/(1-b*i)", 2000,
    )  # fmt: skip
    assert old.ae_energy.total == -289.817808
    assert old.zero_potential_g[0] == 14.88381705292
    assert old.shape.rc == 0.6324555320337
    assert [(s.n, s.l, s.f, s.rc, s.e) for s in old.states[:3]] == [
        (3, 0, 2.0, 2.0, -0.39733), (3, 1, 2.0, 2.0, -0.14997), (None, 0, 0.0, 2.0, 0.60267),
    ]  # fmt: skip
    assert new.kinetic_energy_difference_jj[0, 1] == 2.270905670884919
    assert new.n_projectors == 32
    assert new.relativity == "scalar-relativistic" and new.generator == "gpaw-24.7.0b1"


def test_checksums_and_energies_are_those_of_the_reference_calculations(shared_dir):
    """GPAW 26.7 on the same files; its hartree is that of CODATA 2014."""
    seen = set()
    for path in sorted((shared_dir / "reference" / "dft").glob("*pbe.json")):
        for symbol, row in json.loads(path.read_text())["runs"][0]["results"]["setups"].items():
            header = read_paw_header(datapath() / row["file"])
            assert (header.symbol, header.md5, header.valence) == (symbol, row["md5"], row["valence"])
            energy = header.ae_energy.total * 27.211386024367243
            assert energy == pytest.approx(row["atomic_reference_energy_eV"], rel=1e-12)
            seen.add(symbol)
    assert seen >= {"Si", "Al", "Mg", "O", "H", "Hf"}


def test_gzipped_or_plain_is_the_same(tmp_path):
    plain = tmp_path / "Si.PBE"
    plain.write_bytes(gzip.decompress(SILICON.read_bytes()))
    a, b = read_paw_xml(SILICON), read_paw_xml(plain)
    assert (a.md5, a.sha256, a.name) == (b.md5, b.sha256, b.name)
    np.testing.assert_array_equal(a.projector_jg, b.projector_jg)


def test_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        read_paw_xml(SILICON).projector_jg[0, 0] = 1.0


FORMULAS = {
    "r=d*i": ({"d": 0.3}, lambda i, d: d * i),
    "r=a*exp(d*i)": ({"a": 1e-3, "d": 0.02}, lambda i, a, d: a * np.exp(d * i)),
    "r=a*(exp(d*i)-1)": ({"a": 1e-3, "d": 0.02}, lambda i, a, d: a * (np.exp(d * i) - 1)),
    "r=a*i/(1-b*i)": ({"a": 1e-3, "b": 0.002}, lambda i, a, b: a * i / (1 - b * i)),
    "r=a*i/(n-i)": ({"a": 0.4, "n": 460}, lambda i, a, n: a * i / (n - i)),
    "r=(i/n+a)^5/a-a^4": ({"a": 0.3, "n": 400}, lambda i, a, n: (i / n + a) ** 5 / a - a**4),
}


@pytest.mark.parametrize("eq", FORMULAS)
def test_radial_grid_formulas_and_their_derivatives(eq, silicon_xml, tmp_path):
    parameters, formula = FORMULAS[eq]
    element = silicon_xml.find("radial_grid")
    attributes = {**{k: str(v) for k, v in parameters.items()}, "istart": "0", "iend": "449", "id": "g1"}
    element.attrib.clear()
    element.attrib.update({"eq": eq.replace("=", " = "), **attributes})
    grid = read_paw_xml(write(silicon_xml, tmp_path)).grid
    i = np.arange(450.0)
    np.testing.assert_allclose(grid.r_g, formula(i, **parameters), rtol=1e-13, atol=1e-17)
    # the slope by a complex step: exact to rounding
    np.testing.assert_allclose(grid.dr_g, formula(i + 1e-30j, **parameters).imag / 1e-30, rtol=1e-12)


def test_unknown_formula_with_written_values_is_read(silicon_xml, tmp_path):
    element = silicon_xml.find("radial_grid")
    element.set("eq", "r=something")
    ET.SubElement(element, "values").text = " ".join(str(0.01 * i * i) for i in range(450))
    ET.SubElement(element, "derivatives").text = " ".join(str(0.02 * i + 1e-9) for i in range(450))
    grid = read_paw_xml(write(silicon_xml, tmp_path)).grid
    np.testing.assert_allclose(grid.r_g[[0, 1, 449]], [0, 0.01, 0.01 * 449**2])


def test_functions_on_other_grids_are_brought_to_the_longest(silicon_xml, tmp_path):
    """A shorter piece of the same grid is filled with zeros, exactly; another formula is interpolated."""
    whole = read_paw_xml(SILICON)
    short = ET.SubElement(silicon_xml, "radial_grid", silicon_xml.find("radial_grid").attrib)
    short.attrib.update({"iend": "349", "id": "short"})
    projector = silicon_xml.find("projector_function")
    projector.set("grid", "short")
    projector.text = " ".join(projector.text.split()[:350])
    linear = {"eq": "r=d*i", "d": "0.02", "istart": "0", "iend": "400", "id": "linear"}
    ET.SubElement(silicon_xml, "radial_grid", linear)
    potential = silicon_xml.find("zero_potential")
    potential.set("grid", "linear")
    r_x = 0.02 * np.arange(401)
    potential.text = " ".join(repr(float(v)) for v in np.exp(-(r_x**2)))
    data = read_paw_xml(write(silicon_xml, tmp_path))
    np.testing.assert_array_equal(data.projector_jg[0, :350], whole.projector_jg[0, :350])
    assert not data.projector_jg[0, 350:].any()
    np.testing.assert_allclose(data.zero_potential_g, np.exp(-(data.grid.r_g**2)), atol=3e-8)


def test_exact_exchange_in_both_forms(silicon_xml, tmp_path):
    packed = read_paw_xml(SILICON).exact_exchange_jj
    assert packed[0, 0] == pytest.approx(0.0784, abs=1e-4)
    silicon_xml.find("exact_exchange_X_matrix").text = " ".join(repr(float(x)) for x in packed.ravel())
    np.testing.assert_array_equal(read_paw_xml(write(silicon_xml, tmp_path)).exact_exchange_jj, packed)


def test_coreless_hydrogen_may_lack_core_densities(tmp_path):
    root = ET.fromstring(gzip.decompress((datapath() / "H.PBE.gz").read_bytes()))
    for tag in ("ae_core_density", "pseudo_core_density"):
        root.remove(root.find(tag))
    assert not read_paw_xml(write(root, tmp_path)).ae_core_density_g.any()


def test_atompaw_files_are_read(shared_dir):
    """JTH sets: made by another program, grid r=a*(exp(d*i)-1) without n, other shapes, X matrix in full form."""
    files = sorted((shared_dir / "reference" / "pseudo" / "jth_paw_sr_pbe_1.1_standard_xml").glob("*.xml.gz"))
    assert len(files) == 17
    for file in files:
        data = read_paw_xml(file)
        assert data.functional == "PBE" and data.shape.kind in ("sinc", "bessel") and len(data.pw_ecut) == 3
        values = ET.fromstring(gzip.decompress(file.read_bytes())).find("radial_grid/values").text.split()
        np.testing.assert_allclose(data.grid.r_g, np.array(values, float), rtol=1e-12, atol=1e-14)
        electrons = np.sqrt(4 * np.pi) * sum_over_grid(data, data.ae_core_density_g)
        assert electrons == pytest.approx(data.core, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Si.PBE.gz", ("Si", "", "PBE")),
        ("Cr.14.PBE", ("Cr", "14", "PBE")),
        ("Ag.dzp.basis.gz", ("Ag", "dzp", "basis")),
        ("si.PBE", None),
        ("Si.gz", None),
    ],
)
def test_file_names_are_split(name, parts):
    assert split_dataset_name(name) == parts


REQUIRED = (
    "atom", "xc_functional", "ae_energy", "core_energy", "valence_states", "radial_grid", "shape_function",
    "ae_core_density", "pseudo_core_density", "zero_potential", "ae_partial_wave", "pseudo_partial_wave",
    "projector_function", "kinetic_energy_differences",
)  # fmt: skip


@pytest.mark.parametrize("tag", REQUIRED)
def test_missing_element_is_named(tag, silicon_xml, tmp_path):
    silicon_xml.remove(silicon_xml.find(tag))
    with pytest.raises(InputError, match=f"<{tag}.*missing.*Reinstall") as caught:
        read_paw_xml(write(silicon_xml, tmp_path))
    assert str(tmp_path / "Si.PBE") in str(caught.value)
    assert tag == "atom" or "element Si" in str(caught.value)


@pytest.mark.parametrize("read", [read_paw_xml, read_paw_header])
@pytest.mark.parametrize("kept", [0, 1, 15, 3000, -20])
def test_truncated_gzip_file(read, kept, tmp_path):
    path = tmp_path / "Si.PBE.gz"
    path.write_bytes(SILICON.read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged or cut off"):
        read(path)


@pytest.mark.parametrize("read", [read_paw_xml, read_paw_header])
def test_truncated_xml_file(read, tmp_path):
    path = tmp_path / "Si.PBE"
    path.write_bytes(gzip.decompress(SILICON.read_bytes())[:5000])
    with pytest.raises(InputError, match=r"XML is damaged or cut off.*line"):
        read(path)


def drop_a_number(root):
    root.find("zero_potential").text = " ".join(root.find("zero_potential").text.split()[:-1])


def write_nan(root):
    root.find("ae_core_density").text = root.find("ae_core_density").text.replace("e+03", "e+999", 1)


def write_a_word(root):
    root.find("projector_function").text = root.find("projector_function").text.replace("e+00", "D+00", 1)


def kresse_joubert(root):
    root.find("zero_potential").tag = "kresse_joubert_local_ionic_pseudopotential"


CORRUPTIONS = [
    (drop_a_number, "<zero_potential> holds 449 numbers instead of 450"),
    (write_nan, "<ae_core_density> holds infinite"),
    (write_a_word, '<projector_function state="Si-3s"> holds something that is not a number'),
    (kresse_joubert, "Kresse-Joubert local potential instead of the element <zero_potential>"),
    (lambda root: root.find("radial_grid").set("eq", "r=i^2"), "grid formula"),
    (lambda root: root.find("radial_grid").set("n", "300"), "do not increase"),
    (lambda root: root.find("radial_grid").set("iend", "-1"), "runs from 0 to -1"),
    (lambda root: root.find("zero_potential").set("grid", "g7"), 'grid "g7", but the file defines g1'),
    (lambda root: root.find("atom").set("valence", "four"), 'valence="four" of <atom> is not a number'),
    (lambda root: root.find("atom").attrib.pop("core"), 'core="..." of <atom> is missing'),
    (lambda root: root.find("shape_function").set("type", "numeric"), 'type="numeric"'),
    (lambda root: root.find("valence_states/state").set("l", "0.5"), 'l="0.5" of <state> is not a whole'),
    (lambda root: root.find("valence_states/state").set("id", "Si-3p"), "same id"),
    (lambda root: root.find("valence_states").clear(), "holds no <state>"),
    (lambda root: setattr(root.find("kinetic_energy_differences"), "text", "1 2 3"), "holds 3 numbers instead of 25"),
    (
        lambda root: setattr(root.find("kinetic_energy_differences"), "text", "0 9 " + "0 " * 23),
        "not symmetric",
    ),
    (lambda root: setattr(root.find("exact_exchange_X_matrix"), "text", "1 2"), "5 states need 25 or 91"),
]


@pytest.mark.parametrize(("corrupt", "message"), CORRUPTIONS)
def test_corruption_is_named(corrupt, message, silicon_xml, tmp_path):
    corrupt(silicon_xml)
    with pytest.raises(InputError) as caught:
        read_paw_xml(write(silicon_xml, tmp_path))
    assert message in str(caught.value)
    assert "Si.PBE (element Si)" in str(caught.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_paw_xml(tmp_path / "Xx.PBE.gz")
    with pytest.raises(InputError, match="cannot be read"):
        read_paw_xml(tmp_path)
    with pytest.raises(InputError, match="root element is <paw_basis>"):
        read_paw_xml(datapath() / "Si.dzp.basis.gz")
