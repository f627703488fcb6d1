"""A case from its file to levels: other programs' numbers, invariants, continuing, and what is refused."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.errors import InputError
from eigenwerk.io.ncci.res import read_res
from eigenwerk.ncci.basis.basis_pairs import basis_pairs
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.results.levels_file import read_levels
from eigenwerk.ncci.results.levels_text import levels_lines
from eigenwerk.ncci.run import run_case
from eigenwerk.ncci.series import run_series
from eigenwerk.ncci.sources import source_of, total
from eigenwerk.ncci.stored.dense import dense_hamiltonian
from warm_start import PIPE, WarmProcess, warm_run

HELIUM = {"nucleus": "4He", "interaction": "JISP16", "hw": 20, "Nmax": 2, "states": 3}


def text(solver=None, **keys):
    def toml(value):
        if isinstance(value, bool):
            return str(value).lower()
        return f'"{value}"' if isinstance(value, str) else str(value)

    lines = [f"{key} = {toml(value)}" for key, value in keys.items()]
    return "\n".join([*lines, "[solver]", *(f"{key} = {toml(value)}" for key, value in (solver or {}).items())])


@pytest.fixture
def cases(tmp_path):
    """Cases of a file with these keys."""

    def read(solver=None, **keys):
        path = tmp_path / "case.toml"
        path.write_text(text(solver, **keys))
        return read_cases(path)

    return read


def test_helium_4_is_that_of_mfdn(cases, shared_dir):
    levels = run_case(cases(**HELIUM)[0]).levels
    assert levels.energy_n[0] == pytest.approx(-23.62541, abs=4e-5) and levels.dimension == 59
    found = [levels.values[name][0] for name in ("r_p", "r_n", "r_matter")]
    assert found == pytest.approx([1.41461, 1.41067, 1.41265], abs=1e-5)
    assert levels.isospin_n[0] == pytest.approx(0.00004, abs=1e-5)
    assert levels.values["occupations_p"][0, :4] == pytest.approx([1.948080, 0.027609, 0.011083, 0.013229], abs=1e-6)
    assert levels.values["quanta"][0] == pytest.approx([0.93374, 0.06626], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_lithium_6_is_that_of_mfdn(cases, shared_dir, size):
    reference = shared_dir / "reference" / "ncci"
    path = next(reference.glob(f"mfdn-results/runmfdn13-*Nmax0{size}-Mj1.0*"))
    theirs = read_res(path)
    table = str(reference / "relative" / "daejeon16_hw25.txt")
    keys = {"nucleus": "6Li", "interaction": table, "hw": 15, "Nmax": size, "M": 1, "states": 8}
    levels = run_case(cases(**keys)[0]).levels
    assert levels.dimension == theirs.number("Many-body matrix", "dimension")
    assert levels.nonzeros == theirs.number("Many-body matrix", "numnonzero")
    assert levels.energy_n == pytest.approx(theirs.energies, abs=6e-4)
    assert levels.j_n == pytest.approx(theirs.table("Energies").column("J"), abs=1e-4)
    assert levels.isospin_n == pytest.approx(theirs.table("Energies").column("T"), abs=6e-4)
    for table_name, columns in (
        ("M1 moments", {"mu": "mu", "Dl(p)": "Dl_p", "Dl(n)": "Dl_n", "Ds(p)": "Ds_p", "Ds(n)": "Ds_n"}),
        ("E2 moments", {"Q(p)": "Q_p", "Q(n)": "Q_n"}),
        ("Relative radii", {"r(p)": "r_p", "r(n)": "r_n", "r(matter)": "r_matter"}),
        ("Angular momenta", {"<L^2>": "L2", "<S^2>": "S2", "<Sp^2>": "Sp2", "<Sn^2>": "Sn2"}),
    ):
        for column, ours in columns.items():
            assert levels.values[ours] == pytest.approx(theirs.table(table_name).column(column), abs=1e-4), column
    quanta = theirs.table("Oscillator quanta").rest()
    assert levels.values["quanta"] == pytest.approx(quanta, abs=1e-4)
    for (species, *label), occupation in theirs.occupations.items():
        a = levels.orbitals[species].tolist().index(label)
        assert levels.values[f"occupations_{species}"][:, a] == pytest.approx(occupation, rel=1e-3, abs=1e-4)


def test_oxygen_18_in_the_sd_shell_is_that_of_mfdn(cases, shared_dir):
    path = str(shared_dir / "reference" / "ncci" / "valence" / "usdb.snt")
    levels = run_case(cases(nucleus="18O", interaction=path, states=8)[0]).levels
    assert (levels.dimension, levels.nonzeros) == (14, 101)
    expected = [-11.9318, -9.93335, -8.40459, -7.57171, -7.33926, -6.50542, -2.91241, -2.05051]
    assert levels.energy_n == pytest.approx(expected, abs=1e-4)
    assert [levels.label(n) for n in range(8)] == ["0+", "2+", "4+", "2+", "0+", "3+", "4+", "2+"]


@pytest.mark.slow
def test_p_shell_nuclei_with_cohen_kurath(cases, shared_dir):
    path = str(shared_dir / "reference" / "ncci" / "valence" / "ckpot.snt")
    for nucleus, energies in {
        "8Be": [-31.1194, -27.2997, -19.1618, -18.2487],
        "12C": [-71.0447, -66.3970, -58.5955, -57.5780],
        "13C": [-75.2298, -71.6426, -67.8258, -66.4483],
    }.items():
        assert run_case(cases(nucleus=nucleus, interaction=path)[0]).levels.energy_n == pytest.approx(
            energies, abs=1e-4
        )


@pytest.mark.slow
def test_energies_do_not_depend_on_m_back_end_or_solver(cases):
    keys = {"nucleus": "6Li", "interaction": "JISP16", "hw": 20, "Nmax": 2, "states": 3, "coulomb": False}
    energies = {}
    for m in (0, 1):
        for solver in ({"backend": "csb"}, {"backend": "pairs"}, {"method": "lobpcg"}, {"block": 4}):
            levels = run_case(cases({"tolerance": 1e-8} | solver, **keys, M=m)[0]).levels
            energies[m, str(solver)] = [levels.energy_n[n] for n in range(3) if levels.twice_j_n[n] >= 2][:2]
    for found in energies.values():
        assert found == pytest.approx([-19.292, -18.081], abs=1e-3)
        assert found == pytest.approx(energies[0, str({"backend": "csb"})], abs=1e-6)


@pytest.mark.slow
def test_moments_from_different_m_agree(cases):
    keys = {"nucleus": "7Li", "interaction": "JISP16", "hw": 20, "Nmax": 0, "states": 2}
    at_half, at_three_half = (run_case(cases({"tolerance": 1e-10}, **keys, M=m)[0]).levels for m in ("1/2", "3/2"))
    assert at_half.twice_j_n[0] == 3
    for name in ("mu", "Q_p", "Q_n"):
        assert at_half.values[name][0] == pytest.approx(at_three_half.values[name][0], abs=1e-6)


@pytest.mark.slow
def test_the_centre_of_mass_climbs_its_ladder(cases):
    """Without Lawson's term the spectrum at Nmax holds that at Nmax - 2 as 2 hw excitations of the centre of mass."""
    keys = HELIUM | {"lawson": 0, "states": 1}
    small = run_case(cases({"tolerance": 1e-9}, **(keys | {"Nmax": 2}))[0]).levels
    large = run_case(cases({"tolerance": 1e-9}, **(keys | {"Nmax": 4, "states": 12}))[0]).levels
    nearest = np.abs(large.energy_n - small.energy_n[0]).argmin()
    assert large.energy_n[nearest] == pytest.approx(small.energy_n[0], abs=1e-5)
    assert large.values["N_cm"][nearest] == pytest.approx(2, abs=1e-4)
    assert large.values["N_cm"][0] == pytest.approx(0, abs=1e-8)


def test_mixtures_of_several_spins_are_taken_apart(cases):
    """Without Lawson's term the centre of mass in 0d or 1s above 4He makes a 2+ and a 0+ at one energy, of which plain
    Lanczos finds one sum (J = 1.002 by chance)."""
    levels = run_case(cases({"tolerance": 1e-9}, **(HELIUM | {"lawson": 0, "states": 2}))[0]).levels
    assert levels.converged and levels.energy_n[1] == pytest.approx(levels.energy_n[2], abs=1e-7)
    assert sorted(levels.label(n) for n in (1, 2)) == ["0+", "2+"]
    assert levels.j_n == pytest.approx(levels.twice_j_n / 2, abs=1e-6)
    assert levels.spurious_n.tolist() == [False, True, True] and levels.order_n.tolist() == [1, 0, 0]


@pytest.mark.slow
def test_levels_stand_in_the_order_of_their_energies(cases):
    """Lawson's 50 MeV lift the excited centre of mass; without them its states lie between the others."""
    levels = run_case(cases(**(HELIUM | {"nucleus": "6Li", "M": 1, "states": 12, "lawson": 5}))[0]).levels
    assert (np.diff(levels.energy_n) >= 0).all() and levels.spurious_n.any() and not levels.spurious_n.all()
    assert np.nanmin(levels.excited_n) == 0 and np.isnan(levels.excited_n[levels.spurious_n]).all()


ONE_SHELL = "1 1 8 8\n 1 0 2 5 -1\n 2 0 2 5 1\n2 0\n 1 1 -3.9\n 2 2 -3.9\n1 0\n 2 2 2 2 0 -1.0\n"


def test_moments_of_a_hole_in_a_valence_shell_have_effective_charges(cases, tmp_path):
    """One neutron hole in 0d5/2: Q = e_n (2j - 1)/(2j + 2) <r^2>, <r^2> = 7/2 b^2, and Schmidt's moment g_s/2."""
    (tmp_path / "d5.snt").write_text(ONE_SHELL)
    keys = {"nucleus": "21O", "interaction": "d5.snt", "M": "5/2", "states": 1}
    b_squared = 197.3269804**2 / (938.92 * (45 * 21 ** (-1 / 3) - 25 * 21 ** (-2 / 3)))
    levels = run_case(cases(**keys)[0]).levels
    assert levels.values["Q_n"][0] == pytest.approx(4 / 7 * 3.5 * b_squared, rel=1e-4) and levels.values["Q_p"][0] == 0
    assert levels.values["Q"][0] == pytest.approx(0.5 * levels.values["Q_n"][0], rel=1e-12)
    assert levels.values["mu"][0] == pytest.approx(-3.826 / 2, abs=1e-10)
    changed = cases(**keys, hw=14.0)[0]
    changed = replace(changed, effective_charges=(1.36, 0.45), g_spin=(4.0, -3.0))
    levels = run_case(changed).levels
    expected = 0.45 * 2 * 197.3269804**2 / (938.92 * 14.0)
    assert levels.values["Q"][0] == pytest.approx(expected, rel=1e-4)
    assert levels.values["mu"][0] == pytest.approx(-1.5, abs=1e-10)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"lawson": 20}, "lawson would have no effect in a valence space"),
        ({"coulomb": False}, "coulomb would have no effect"),
        ({"scaling": [18, -0.3]}, "d5.snt says that it does not scale"),
        ({"core": [2, 2]}, r"core = \[2, 2\], but d5.snt has \[8, 8\]"),
        ({"orbitals": "sd.sps"}, "d5.snt names its orbitals"),
    ],
)
def test_keys_that_would_change_nothing_are_refused(cases, tmp_path, keys, words):
    (tmp_path / "d5.snt").write_text(ONE_SHELL)
    with pytest.raises(InputError, match=words):
        run_case(cases(nucleus="21O", interaction="d5.snt", states=1, **keys)[0])


@pytest.mark.slow
def test_single_precision_keeps_energies_to_a_hundredth_of_a_kev(cases):
    double, single = (
        run_case(cases({"precision": precision, "tolerance": 1e-5}, **HELIUM)[0]).levels
        for precision in ("double", "single")
    )
    assert single.energy_n[0] == pytest.approx(double.energy_n[0], abs=1e-5)


def test_a_series_lowers_the_energy_and_its_files_come_back(cases, tmp_path):
    series = run_series(cases(**(HELIUM | {"Nmax": [2, 4], "states": 1})), tmp_path / "out")
    assert series[1].energy_n[0] < series[0].energy_n[0]
    assert series[1].energy_n[0] == pytest.approx(-27.0495, abs=1e-4)
    again = read_levels(tmp_path / "out" / "hw20_Nmax04")
    assert np.array_equal(again.energy_n, series[1].energy_n) and again.label(0) == "0+"
    assert set(again.values) == set(series[1].values)
    assert np.array_equal(again.smaller["overlap_nm"], series[1].smaller["overlap_nm"]) and again.smaller["Nmax"] == 2
    assert 0.9 < again.smaller["overlap_nm"][0, 0] < 1
    theirs = read_res(tmp_path / "out" / "hw20_Nmax04" / "levels.res")
    assert theirs.energies == pytest.approx(series[1].energy_n, abs=6e-4)
    assert theirs.number("Many-body matrix", "dimension") == 952
    assert theirs.table("Relative radii").column("r(p)")[0] == pytest.approx(series[1].values["r_p"][0], abs=6e-5)
    assert "-27.0495" in (tmp_path / "out" / "hw20_Nmax04" / "levels.txt").read_text()
    assert not (tmp_path / "out" / "hw20_Nmax04" / "checkpoint").exists()


@pytest.mark.slow
def test_an_evolved_interaction_binds_more_in_a_small_space_and_is_named(cases, tmp_path):
    keys = {"nucleus": "3H", "interaction": "NNLOopt", "hw": 24, "Nmax": 2, "states": 1, "observables": []}
    (bare,) = run_series(cases(**keys), tmp_path / "bare")
    (evolved,) = run_series(cases(**keys, srg_lambda=2.0), tmp_path / "evolved")
    assert evolved.energy_n[0] < bare.energy_n[0] - 1
    again = read_levels(tmp_path / "evolved")
    assert again.about["srg_lambda"] == 2 and again.interaction == "NNLOopt SRG 2 fm^-1"
    assert read_levels(tmp_path / "bare").interaction == "NNLOopt"
    for name in ("levels.txt", "levels.res"):
        assert "NNLOopt SRG 2 fm^-1" in (tmp_path / "evolved" / name).read_text()


@pytest.mark.slow
def test_start_vectors_from_a_file_of_a_smaller_space_save_products(cases, tmp_path):
    keys = HELIUM | {"states": 1}
    run_series(cases(**(keys | {"Nmax": 2})), tmp_path / "small")
    plain = run_case(cases({}, **(keys | {"Nmax": 4}))[0]).levels
    helped = run_case(cases({"start": "small"}, **(keys | {"Nmax": 4}))[0]).levels
    assert helped.energy_n[0] == pytest.approx(plain.energy_n[0], abs=1e-6)
    assert helped.solver["products"] < plain.solver["products"]


@pytest.mark.slow
def test_a_killed_run_continues_with_the_same_bits(cases, tmp_path):
    keys = {"nucleus": "6Li", "interaction": "JISP16", "hw": 20, "Nmax": 2, "states": 2}
    solver = {"checkpoint_minutes": 0, "products": 80, "fixed": True, "backend": "csb"}
    cases(solver, **keys)
    command = ["-m", "eigenwerk.cli.main", "ncci", "run", str(tmp_path / "case.toml"), "-q", "-o"]
    assert warm_run([*command, str(tmp_path / "whole")]).returncode == 0
    process = WarmProcess([*command, str(tmp_path / "killed")], stdout=PIPE)
    state = tmp_path / "killed" / "checkpoint" / "state.h5"
    while not state.exists() and process.poll() is None:
        time.sleep(0.02)
    time.sleep(0.1)
    process.kill()
    process.communicate()
    assert state.exists() and not (tmp_path / "killed" / "levels.h5").exists()
    saved = len(list(state.parent.glob("vector-*")))
    assert 1 < saved < 81
    assert warm_run([*command, str(tmp_path / "killed")]).returncode == 0
    whole, killed = (read_levels(tmp_path / name) for name in ("whole", "killed"))
    assert np.array_equal(whole.energy_n, killed.energy_n) and killed.solver["products"] == 80


@pytest.mark.slow
def test_a_run_that_is_stopped_between_steps_saves_all_of_them(cases, tmp_path):
    (case,) = cases({"checkpoint_minutes": 60, "tolerance": 1e-9}, **HELIUM)
    whole = run_case(case).levels

    def stop(step):
        if step.products == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_case(case, checkpoint=tmp_path / "checkpoint", report=stop)
    assert len(list((tmp_path / "checkpoint").glob("vector-*"))) == 21
    steps = []
    again = run_case(case, checkpoint=tmp_path / "checkpoint", report=steps.append).levels
    assert steps[0].products == 21 and np.array_equal(again.energy_n, whole.energy_n)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"parity": "unnatural"}, ["parity = 'unnatural'", "Nmax = 2", "natural", "Nmax = 1 or 3"]),
        ({"M": 9}, ["M = 9 has no many-body state", "Set M closer to zero"]),
        ({"interaction": "JISP17"}, ["JISP17", "jisp16", "does not exist"]),
        ({"interaction": "bad.snt"}, ["bad.snt", "line 2", "2212"]),
        ({"hw": None}, ["lacks hw"]),
        ({"srg_lambda": 2.0}, ["case.toml: srg_lambda = 2,", "'JISP16'", "Remove srg_lambda", '"NNLOopt"']),
        ({"srg_lambda": 2.0, "interaction": "bad.snt"}, ["srg_lambda = 2,", "'bad.snt'"]),
        ({"Nmax": None}, ["lacks Nmax"]),
    ],
)
def test_cases_that_cannot_be_are_refused_with_the_reason(cases, tmp_path, keys, words):
    (tmp_path / "bad.snt").write_text("2 2 2 2\n 1 0 1 \u22121 -1\n", encoding="utf-8")
    wanted = {key: value for key, value in (HELIUM | keys).items() if value is not None}
    with pytest.raises(InputError) as caught:
        run_case(cases(**wanted)[0])
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_valence_nucleus_must_lie_outside_the_core(cases, shared_dir):
    path = str(shared_dir / "reference" / "ncci" / "valence" / "usdb.snt")
    refused = {"12C": "less than the core", "16O": "no nucleon outside the core", "60Ni": "do not fit"}
    for nucleus, words in refused.items():
        with pytest.raises(InputError, match=words):
            run_case(cases(nucleus=nucleus, interaction=path)[0])
    with pytest.raises(InputError, match="Nmax has no meaning"):
        run_case(cases(nucleus="18O", interaction=path, Nmax=2)[0])


@pytest.mark.slow
def test_an_h2_file_that_is_too_small_is_refused_with_the_nmax_that_fits(cases, shared_dir):
    path = str(shared_dir / "reference" / "ncci" / "h2-tbme" / "JISP16-tb-6-20.0.bin")
    keys = {"nucleus": "6Li", "interaction": path, "hw": 20}
    with pytest.raises(InputError, match="Nmax"):
        run_case(cases(**keys, Nmax=6)[0])
    assert run_case(cases(**keys, Nmax=2, coulomb=False)[0]).levels.energy_n[0] == pytest.approx(-19.292, abs=1e-3)


@pytest.mark.slow
def test_a_case_that_does_not_fit_in_memory_names_the_smallest_change(cases):
    keys = {"nucleus": "10B", "interaction": "JISP16", "hw": 20, "Nmax": 4}
    with pytest.raises(InputError, match=r'581740 states.*there are 1\.8 GB.*It would fit with backend = "pairs"'):
        run_case(cases({"memory_gb": 1.8}, **keys)[0])
    with pytest.raises(InputError, match=r"take Nmax = 2"):
        run_case(cases({"memory_gb": 0.1}, **keys)[0])
    with pytest.raises(InputError, match=r"backend = 'dense' is for tests"):
        run_case(cases({"backend": "dense"}, **keys)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("method", "precision"), covering(("lanczos", "lobpcg"), ("single", "double"), together=1))
def test_residuals_are_those_of_the_vectors_that_are_written(cases, method, precision):
    """H as it is in double precision, on vectors of single precision: what their rounding leaves is in the residual."""
    keys = HELIUM | {"nucleus": "7Be", "M": 0.5, "lawson": 10}
    found = run_case(cases({"method": method, "precision": precision, "tolerance": 1e-6, "backend": "csb"}, **keys)[0])
    problem, parts = found.problem, source_of(found.case).parts(found.case, found.problem)
    dense = dense_hamiltonian(found.basis, basis_pairs(found.basis, total(parts), np.float64))
    x_nb = torch.from_numpy(found.vectors_nb).double()
    image_nb = dense.apply(x_nb)
    eig_n = (x_nb * image_nb).sum(1) / x_nb.square().sum(1)
    wanted = torch.linalg.vector_norm(image_nb - eig_n[:, None] * x_nb, dim=1).numpy()
    assert problem.space.nucleons == 7 and found.levels.converged
    if precision == "double":
        assert found.levels.residual_n == pytest.approx(wanted, rel=1e-3, abs=1e-12)
    else:  # of elements in single precision
        assert (found.levels.residual_n > 0.2 * wanted).all() and (found.levels.residual_n < 5 * wanted).all()
        assert wanted.max() > 3e-6


@pytest.mark.slow
def test_residuals_above_the_tolerance_by_rounding_have_a_remark(cases):
    case = cases({"precision": "single", "tolerance": 1.3e-7, "backend": "csb"}, **(HELIUM | {"nucleus": "7Be"}))[0]
    levels = run_case(case).levels
    assert levels.converged and levels.residual_n.max() > 1.3e-7 * abs(levels.energy_n[0])
    assert "Residuals stay above tolerance = 1.3e-07" in "\n".join(levels_lines(levels))


def test_a_small_part_of_another_j_is_taken_out(cases):
    """Three neutrons by a central force, L = 1, S = 1/2: 1/2- and 3/2- are at one energy, and one vector finds 99 % of
    one and a part of the other.  <J^2> hardly tells a percent, with which mu is 4 % off: <l_z> and <s_z> are exact."""
    keys = {"Z": 0, "N": 3, "interaction": "Minnesota", "hw": 20, "Nmax": 2, "states": 1, "observables": ["moments"]}
    levels = run_case(cases(**keys)[0]).levels
    exact = {"1/2-": (2 / 3, -1 / 6), "3/2-": (1, 1 / 2)}
    found = [levels.label(n) for n in range(len(levels.energy_n))]
    assert 1 <= len(set(found)) == len(found) and np.ptp(levels.energy_n) < 1e-8
    for n, label in enumerate(found):
        orbital, spin = exact[label]
        assert levels.values["Dl_n"][n] == pytest.approx(orbital, abs=1e-5)
        assert levels.values["Ds_n"][n] == pytest.approx(spin, abs=1e-5)


@pytest.mark.slow
def test_levels_of_a_central_force_do_not_depend_on_how_they_were_found(cases):
    """5/2+, 3/2+ and 1/2+ of L = 1 or 2 and S = 1/2 or 3/2 at one energy."""
    keys = {"nucleus": "5H", "interaction": "Minnesota", "hw": 20, "Nmax": 2, "M": 0.5, "observables": ["moments"]}
    one = run_case(cases(states=3, **keys)[0]).levels
    many = run_case(cases({"block": 6, "tolerance": 1e-9}, states=6, **keys)[0]).levels
    places = [[levels.label(n) for n in range(len(levels.energy_n))] for levels in (one, many)]
    for label in ("1/2+", "5/2+", "3/2+"):
        for name in ("mu", "Q"):
            found = [
                sorted(levels.values[name][n] for n, other in enumerate(place) if other == label)[:2]
                for levels, place in zip((one, many), places, strict=True)
            ]
            assert found[0] == pytest.approx(found[1], abs=2e-4), (label, name)


@pytest.mark.slow
def test_a_loose_tolerance_makes_no_states(cases):
    """M = 0 has one state of J = 4 at most in this space; parts of what is no state yet are none."""
    keys = {"nucleus": "4He", "interaction": "Daejeon16", "hw": 22, "Nmax": 2, "states": 4, "observables": []}
    for tolerance in (0.3, 0.03):
        levels = run_case(cases({"tolerance": tolerance}, **keys)[0]).levels
        assert len(levels.energy_n) == 4
        if levels.residual_n.max() > 1:
            assert "<N_cm> is up to" not in "\n".join(levels_lines(levels))


def test_neutrons_alone_start_from_a_smaller_space(cases, tmp_path):
    keys = {"Z": 0, "N": 4, "interaction": "Minnesota", "hw": 20, "Nmax": [0, 2], "states": 1, "observables": []}
    smaller, larger = run_series(cases(**keys), tmp_path / "out")
    assert larger.energy_n[0] < smaller.energy_n[0] - 5
    assert 0.5 < larger.smaller["overlap_nm"][0, 0] < 1
