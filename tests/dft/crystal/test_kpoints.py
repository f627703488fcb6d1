"""k-point meshes and their reduction."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.dft.crystal.kpoints import (
    explicit,
    generated_mesh,
    mesh_from_length,
    mesh_from_spacing,
    mesh_kpoints,
    monkhorst_pack,
    reduce_mesh,
)
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry, find_symmetry, subgroup, without_spin_flips
from eigenwerk.errors import InputError
from eigenwerk.units import BOHR_ANGSTROM
from lattices import ANTIFERROMAGNET, FCC, HEX, MAGNESIUM, wrap

TOLERANCE = 1e-5 / BOHR_ANGSTROM
STRUCTURES = {
    "fcc": Structure(7.6 * FCC, ("Al",), [[0, 0, 0]]),
    "zincblende": Structure(10.6 * FCC, ("Ga", "As"), [[0, 0, 0], [0.25] * 3]),
    "hcp": MAGNESIUM,
    "polar hexagonal": Structure(HEX * [6.0, 6.0, 9.8], ("B", "N"), [[1 / 3, 2 / 3, 0.1], [2 / 3, 1 / 3, 0.45]]),
    "antiferromagnetic rutile": ANTIFERROMAGNET,
    "left-handed triclinic": Structure([[0, 5, 1], [6, 0, 0], [1, 1, 7]], ("H", "O"), [[0, 0, 0], [0.1, 0.2, 0.3]]),
}
SYMMETRIES = {name: find_symmetry(structure, TOLERANCE, 2) for name, structure in STRUCTURES.items()}
MESHES = [
    ((4, 4, 4), (0.0, 0.0, 0.0), True),
    ((4, 4, 4), (0.0, 0.0, 0.0), False),
    ((3, 3, 3), (0.0, 0.0, 0.0), False),
    ((2, 3, 4), (0.0, 0.0, 0.0), True),
    ((4, 4, 2), (0.5, 0.5, 0.0), True),
    ((3, 3, 2), (0.25, 0.25, 0.0), True),
    ((4, 4, 4), (0.1, 0.2, 0.3), True),
    ((3, 3, 1), (0.1234567891, 0.0, 0.0), False),
]


def test_gamma_mesh_has_the_order_and_values_of_vasp():
    expected = [[x, y, 0.0] for y in (0.0, 0.5) for x in (0.0, 0.25, 0.5, -0.25)]
    np.testing.assert_allclose(monkhorst_pack((4, 2, 1)), expected)


def test_even_monkhorst_pack_mesh_is_half_a_step_off_and_odd_is_not():
    np.testing.assert_allclose(monkhorst_pack((4, 1, 1), gamma_centred=False)[:, 0], [0.125, 0.375, -0.375, -0.125])
    np.testing.assert_allclose(monkhorst_pack((3, 1, 1), gamma_centred=False)[:, 0], [0, 1 / 3, -1 / 3], atol=1e-15)


@given(st.tuples(*[st.integers(1, 6)] * 3), st.tuples(*[st.floats(-2, 2)] * 3), st.booleans())
def test_meshes_are_the_formula_modulo_one(mesh, shift, gamma_centred):
    expected = []
    for n in product(*map(range, mesh)):
        centre = [0.0 if gamma_centred else (1 - size) / 2 for size in mesh]
        expected.append([(n[c] + shift[c] + centre[c]) / mesh[c] for c in range(3)])
    points_kc = monkhorst_pack(mesh, shift, gamma_centred)
    assert points_kc.shape == (mesh[0] * mesh[1] * mesh[2], 3)
    assert (points_kc > -0.5).all()
    assert (points_kc < 0.5 + 1e-9).all()
    apart_kk = np.abs(wrap(np.array(expected)[:, None] - points_kc[None])).max(axis=-1)
    assert (apart_kk.min(axis=0) < 1e-9).all()
    assert len(set(apart_kk.argmin(axis=1))) == len(points_kc)


def test_fcc_mesh_gives_the_list_known_from_ibzkpt_files():
    kpoints = mesh_kpoints((4, 4, 4), (0, 0, 0), True, SYMMETRIES["fcc"])
    expected = [
        [0, 0, 0], [0.25, 0, 0], [0.5, 0, 0], [0.25, 0.25, 0],
        [0.5, 0.25, 0], [-0.25, 0.25, 0], [0.5, 0.5, 0], [-0.25, 0.5, 0.25],
    ]  # fmt: skip
    np.testing.assert_allclose(kpoints.point_kc, expected)
    np.testing.assert_allclose(64 * kpoints.weight_k, [1, 8, 4, 6, 24, 12, 3, 6])
    assert kpoints.full_count == 64
    assert kpoints.mesh == (4, 4, 4)
    assert kpoints.source == "Gamma-centred 4 x 4 x 4 mesh"


def signed_stabiliser(symmetry: Symmetry, points_kc: np.ndarray) -> list[tuple[int, int]]:
    """(operation, sign) that map the points onto themselves, by distances."""
    found = []
    for o, sign in product(range(symmetry.order), (1, -1) if symmetry.time_reversal else (1,)):
        image_kc = sign * points_kc @ symmetry.reciprocal_occ[o].T
        apart_kk = np.abs(wrap(image_kc[:, None] - points_kc[None])).max(axis=-1)
        if (apart_kk.min(axis=1) < 1e-7).all():
            found.append((o, sign))
    return found


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", STRUCTURES)
def test_reduction_equals_brute_force(name, mesh):
    symmetry = SYMMETRIES[name]
    points_kc = monkhorst_pack(*mesh)
    kpoints = mesh_kpoints(*mesh, symmetry)
    stabiliser = signed_stabiliser(symmetry, points_kc)
    kept = sorted({o for o, _ in stabiliser})
    assert kpoints.symmetry is symmetry
    np.testing.assert_array_equal(np.flatnonzero(kpoints.kept_o), kept)
    assert kpoints.kept_operations == len(kept)
    assert kpoints.has_crystal_symmetry == (len(kept) == symmetry.order)

    remaining, stars = set(range(len(points_kc))), []
    while remaining:
        first = min(remaining)
        images_xc = np.array([sign * symmetry.reciprocal_occ[o] @ points_kc[first] for o, sign in stabiliser])
        star = {int(np.abs(wrap(points_kc - image_c)).max(axis=1).argmin()) for image_c in images_xc}
        stars.append((first, star))
        remaining -= star
    np.testing.assert_allclose(kpoints.point_kc, points_kc[[first for first, _ in stars]])
    np.testing.assert_allclose(kpoints.weight_k, [len(star) / len(points_kc) for _, star in stars])
    for index, (_, star) in enumerate(stars):
        assert set(np.flatnonzero(kpoints.irreducible_of_full == index)) == star


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", STRUCTURES)
def test_kept_operations_are_a_group_and_make_every_full_point(name, mesh):
    kpoints = mesh_kpoints(*mesh, SYMMETRIES[name])
    group = kpoints.of_kept_operations().symmetry
    pairs = zip(group.rotation_occ, group.atom_map_oa, strict=True)
    known = {(rotation_cc.tobytes(), map_a[0]) for rotation_cc, map_a in pairs}
    for first, second in product(range(group.order), repeat=2):
        rotation_cc = group.rotation_occ[first] @ group.rotation_occ[second]
        assert (rotation_cc.tobytes(), group.atom_map_oa[first][group.atom_map_oa[second][0]]) in known
    for points in (kpoints, kpoints.of_kept_operations()):
        sign_k = np.where(points.reversed_of_full, -1, 1)[:, None]
        matrix_kcc = points.symmetry.reciprocal_occ[points.operation_of_full]
        made_kc = sign_k * np.einsum("kcd,kd->kc", matrix_kcc, points.point_kc[points.irreducible_of_full])
        assert np.abs(wrap(made_kc - monkhorst_pack(*mesh))).max() < 1e-9
        assert np.abs(points.full_kc - monkhorst_pack(*mesh)).max() < 1e-9
    assert kpoints.kept_o[kpoints.operation_of_full].all()


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(sorted(STRUCTURES)), st.sampled_from(MESHES), st.integers(0, 2**32 - 1))
def test_irreducible_sum_of_a_symmetric_function_is_the_full_sum(name, mesh, seed):
    """f(k) = sum over the group, k and -k, of a random Fourier series."""
    symmetry = SYMMETRIES[name]
    rng = np.random.default_rng(seed)
    wave_xc, height_x = rng.integers(-3, 4, size=(8, 3)), rng.normal(size=8)

    def function(point_kc: np.ndarray) -> np.ndarray:
        rotated_okc = np.einsum("ocd,kd->okc", symmetry.reciprocal_occ, point_kc)
        return np.cos(2 * np.pi * rotated_okc @ wave_xc.T).mean(axis=0) @ height_x

    kpoints = mesh_kpoints(*mesh, symmetry)
    full = function(monkhorst_pack(*mesh)).mean()
    assert kpoints.weight_k @ function(kpoints.point_kc) == pytest.approx(full, abs=1e-8)
    assert kpoints.weight_k.sum() == pytest.approx(1.0)


def test_levels_off_and_time_reversal_only():
    structure = STRUCTURES["fcc"]
    off = mesh_kpoints((4, 4, 4), (0, 0, 0), True, find_symmetry(structure, TOLERANCE, -1))
    assert len(off.weight_k) == 64
    np.testing.assert_allclose(off.weight_k, 1 / 64)
    reversal = mesh_kpoints((4, 4, 4), (0, 0, 0), True, find_symmetry(structure, TOLERANCE, 0))
    assert len(reversal.weight_k) == (64 - 8) // 2 + 8


def test_shifted_fcc_mesh_is_reduced_by_its_own_trigonal_operations_and_symmetrises_with_all():
    kpoints = mesh_kpoints((2, 2, 2), (0, 0, 0), False, SYMMETRIES["fcc"])
    assert kpoints.kept_operations == 12
    assert kpoints.symmetry.order == 48
    np.testing.assert_allclose(sorted(kpoints.weight_k), [0.25, 0.75])


def test_even_fcc_mesh_has_the_points_and_weights_of_a_published_run(shared_dir):
    """Si, Monkhorst-Pack 4 x 4 x 4: 48 operations, ten points (reference/vasp_outputs/si_static, VASP 5.2.12)."""
    text = (shared_dir / "reference" / "vasp_outputs" / "si_static" / "OUTCAR").read_text()
    assert "Found 48 space group operations" in text
    rows = text.split("k-points in reciprocal lattice and weights")[1].splitlines()[1:11]
    expected = np.array([[float(word) for word in row.split()] for row in rows])
    structure = Structure(10.334 * FCC, ("Si", "Si"), [[0.375] * 3, [0.625] * 3])
    kpoints = mesh_kpoints((4, 4, 4), (0, 0, 0), False, find_symmetry(structure, TOLERANCE, 2))
    assert kpoints.symmetry.order == 48
    np.testing.assert_allclose(kpoints.point_kc, expected[:, :3])
    np.testing.assert_allclose(kpoints.weight_k, expected[:, 3], atol=6e-4)


def test_shifted_hexagonal_mesh_loses_the_threefold_axis_and_the_centred_one_keeps_it():
    assert mesh_kpoints((4, 4, 2), (0, 0, 0), True, SYMMETRIES["hcp"]).kept_operations == 24
    shifted = mesh_kpoints((4, 4, 2), (0, 0, 0), False, SYMMETRIES["hcp"]).of_kept_operations().symmetry
    assert shifted.order == 8
    assert not (np.trace(shifted.rotation_occ, axis1=1, axis2=2) == 0).any()


def test_mesh_without_inversion_uses_rotations_combined_with_reversal():
    """Shift (1/4, 1/4, 0): -k is not in the mesh, but a twofold axis along z combined with k -> -k keeps it."""
    orthorhombic = find_symmetry(Structure(np.diag([5.0, 6.0, 7.0]), ("H",), [[0, 0, 0]]), TOLERANCE, 2)
    kpoints = mesh_kpoints((3, 3, 3), (0.25, 0.25, 0), True, orthorhombic)
    kept_occ = kpoints.symmetry.rotation_occ[kpoints.kept_o]
    diagonals = sorted(np.diagonal(kept_occ, axis1=1, axis2=2).tolist())
    assert diagonals == [[-1, -1, -1], [-1, -1, 1], [1, 1, -1], [1, 1, 1]]
    assert len(kpoints.weight_k) == 9 * 2


def test_spin_flips_reduce_the_mesh_of_an_antiferromagnet_like_the_crystal():
    symmetry = SYMMETRIES["antiferromagnetic rutile"]
    plain = replace(STRUCTURES["antiferromagnetic rutile"], magmom_a=None)
    crystal = find_symmetry(plain, TOLERANCE, 2)
    count = {
        "flips": len(mesh_kpoints((4, 4, 4), (0, 0, 0), True, symmetry).weight_k),
        "no flips": len(mesh_kpoints((4, 4, 4), (0, 0, 0), True, without_spin_flips(symmetry)).weight_k),
        "crystal": len(mesh_kpoints((4, 4, 4), (0, 0, 0), True, crystal).weight_k),
    }
    assert count["flips"] == count["crystal"] < count["no flips"]


def test_number_of_points_does_not_depend_on_primitive_vectors():
    """A mesh that is the same set of points in two cells of one lattice gives the same stars."""
    change_cc = np.array([[1, 0, 0], [2, 1, 0], [-1, 3, 1]])
    structure = Structure(change_cc @ (7.6 * FCC), ("Al",), [[0, 0, 0]])
    kpoints = mesh_kpoints((6, 6, 6), (0, 0, 0), True, find_symmetry(structure, TOLERANCE, 2))
    reference = mesh_kpoints((6, 6, 6), (0, 0, 0), True, SYMMETRIES["fcc"])
    assert kpoints.kept_operations == 48
    np.testing.assert_allclose(sorted(kpoints.weight_k), sorted(reference.weight_k))


def test_points_with_few_digits_are_recognised():
    points_kc = np.round(monkhorst_pack((3, 3, 3)), 7)
    kpoints = reduce_mesh(points_kc, SYMMETRIES["fcc"])
    assert kpoints.kept_operations == 48
    assert len(kpoints.weight_k) == len(mesh_kpoints((3, 3, 3), (0, 0, 0), True, SYMMETRIES["fcc"]).weight_k)


@pytest.mark.slow
def test_reference_meshes_without_fractional_translations(shared_dir):
    """GPAW 26.7.0 reduces with the operations that need no translation and time reversal."""
    checked = set()
    for path in sorted((shared_dir / "reference" / "dft").glob("*.json")):
        data = json.loads(path.read_text())
        for run in data["runs"] if isinstance(data, dict) else []:
            checked.add((path.stem, _compare_with_reference(run)))
    assert {("al_fcc_pbe", 29), ("si_diamond_pbe", 8), ("hfo2_monoclinic_pbe", 8), ("h2o_box_pbe", 1)} <= checked
    assert ("si_displaced_pbe", 36) in checked


def _compare_with_reference(run: dict) -> int:
    lattice_cv = np.array(run["structure"]["cell_A"]) / BOHR_ANGSTROM
    structure = Structure(lattice_cv, tuple(run["structure"]["symbols"]), run["structure"]["scaled_positions"])
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    symmorphic = subgroup(symmetry, (np.abs(wrap(symmetry.translation_oc)) < 1e-9).all(axis=1))
    kpoints = mesh_kpoints(tuple(run["settings"]["kpts_size"]), (0, 0, 0), True, symmorphic)
    assert run["settings"]["kpts_gamma_centred"]
    assert len(kpoints.weight_k) == run["results"]["n_ibz_kpoints"]
    np.testing.assert_allclose(sorted(kpoints.weight_k), sorted(run["results"]["ibz_weights"]), atol=1e-12)
    return len(kpoints.weight_k)


def cubic(edge_angstrom: float) -> Structure:
    return Structure(np.eye(3) * edge_angstrom / BOHR_ANGSTROM, ("H",), [[0, 0, 0]])


@pytest.mark.parametrize(
    ("edge", "spacing", "count"), [(4.0, 0.5, 4), (np.pi, 0.5, 4), (np.pi, 0.4999, 5), (40.0, 0.5, 1)]
)
def test_kspacing(edge, spacing, count):
    assert mesh_from_spacing(cubic(edge), spacing) == (count,) * 3


def test_rounding_noise_adds_no_points():
    """Cells in which the number of points comes out whole: 2 pi / (edge spacing) = n, and R / edge + 1/2 = n."""
    for edge, count in product(np.linspace(2.0, 12.0, 41), range(1, 12)):
        assert mesh_from_spacing(cubic(edge), 2 * np.pi / edge / count) == (count,) * 3
        assert mesh_from_length(cubic(edge), (count - 0.5) * edge) == (count,) * 3


def test_kspacing_of_a_skewed_cell_uses_reciprocal_lengths():
    structure = Structure(HEX * [3.0, 3.0, 5.0] / BOHR_ANGSTROM, ("H",), [[0, 0, 0]])
    in_plane = int(np.ceil(2 * np.pi / (3.0 * np.sqrt(0.75)) / 0.22))
    assert mesh_from_spacing(structure, 0.22) == (in_plane, in_plane, int(np.ceil(2 * np.pi / 5.0 / 0.22)))


@pytest.mark.parametrize(("edge", "length", "count"), [(4.0, 20, 5), (4.0, 17.9, 4), (4.0, 18.0, 5), (40.0, 10, 1)])
def test_automatic_length(edge, length, count):
    assert mesh_from_length(cubic(edge), length) == (count,) * 3


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_bad_spacing_and_length_are_refused(value):
    with pytest.raises(InputError, match="KSPACING"):
        mesh_from_spacing(cubic(4.0), value)
    with pytest.raises(InputError, match="length"):
        mesh_from_length(cubic(4.0), value)


def test_absurd_meshes_are_refused():
    with pytest.raises(InputError, match="Is the unit right"):
        mesh_from_spacing(cubic(4.0), 1e-3)
    with pytest.raises(InputError, match="more than"):
        monkhorst_pack((200, 200, 200))
    with pytest.raises(InputError, match="at least 1"):
        monkhorst_pack((4, 0, 4))
    with pytest.raises(InputError, match="shift"):
        monkhorst_pack((4, 4, 4), (0, np.nan, 0))


def test_generated_mesh_equals_a_regular_one():
    np.testing.assert_allclose(generated_mesh(np.diag([0.25, 0.5, 1.0])), monkhorst_pack((4, 2, 1)))
    shifted_kc = generated_mesh(np.diag([0.25, 0.5, 1.0]), (0.5, 0.0, 0.0))
    np.testing.assert_allclose(sorted(shifted_kc.tolist()), sorted(monkhorst_pack((4, 2, 1), (0.5, 0, 0)).tolist()))


@given(st.lists(st.integers(-4, 4), min_size=9, max_size=9))
def test_generated_meshes_hold_every_point_once(entries):
    integer_cc = np.array(entries).reshape(3, 3)
    count = round(abs(np.linalg.det(integer_cc)))
    if count == 0:
        return
    points_kc = generated_mesh(np.linalg.inv(integer_cc))
    assert len(points_kc) == count
    steps_kc = points_kc @ integer_cc
    np.testing.assert_allclose(steps_kc, np.rint(steps_kc), atol=1e-9)
    apart_kk = np.abs(wrap(points_kc[:, None] - points_kc[None])).max(axis=-1) + np.eye(count)
    assert apart_kk.min() > 1e-6


def test_body_centred_generators_of_an_fcc_crystal_keep_all_operations():
    """Cubic steps of 1/4 (2 pi / a) shifted to the corners: the mesh of the conventional cell."""
    cubic_to_fcc_cc = FCC.T
    generator_cc = np.eye(3) / 4 @ cubic_to_fcc_cc
    kpoints = reduce_mesh(generated_mesh(generator_cc, (0.5, 0.5, 0.5)), SYMMETRIES["fcc"])
    assert kpoints.full_count == 256
    assert kpoints.kept_operations == 48
    assert len(kpoints.weight_k) == 10


def test_generators_that_miss_the_reciprocal_lattice_are_refused():
    with pytest.raises(InputError, match="must consist of integers"):
        generated_mesh(np.diag([0.3, 0.25, 0.25]))
    with pytest.raises(InputError, match="span no volume"):
        generated_mesh(np.ones((3, 3)))


def test_explicit_list_is_kept_and_weights_are_scaled():
    symmetry = SYMMETRIES["fcc"]
    kpoints = explicit(np.array([[0, 0, 0], [0.5, 0, 0], [0.1, 0, 0]]), np.array([1.0, 3.0, 0.0]), symmetry)
    np.testing.assert_allclose(kpoints.weight_k, [0.25, 0.75, 0.0])
    assert kpoints.symmetry is symmetry
    assert kpoints.mesh is None
    assert kpoints.irreducible_of_full is None


@pytest.mark.parametrize(
    ("points", "weights", "message"),
    [
        ([[0, 0, 0]], [1.0, 2.0], "1 k-points but weights"),
        ([[0, 0, 0]], [-1.0], "not negative"),
        ([[0, 0, 0]], [0.0], "not all zero"),
        ([[0, 0, 0]], [np.nan], "finite"),
        ([[0, 0, np.inf]], [1.0], "not finite"),
        ([[0, 0]], [1.0], "shape"),
        (np.zeros((0, 3)), [], "at least one point"),
    ],
)
def test_bad_explicit_lists_are_named(points, weights, message):
    with pytest.raises(InputError, match=message):
        explicit(np.array(points), np.array(weights), SYMMETRIES["fcc"])


def test_repeated_points_in_a_full_list_are_refused():
    with pytest.raises(InputError, match="twice"):
        reduce_mesh(np.array([[0.5, 0, 0], [-0.5, 0, 0]]), SYMMETRIES["fcc"])
