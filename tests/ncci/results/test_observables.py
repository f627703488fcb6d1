"""Observables come out the same in two ways; the diagonal is that of the matrix."""

import numpy as np
import pytest
import torch

from eigenwerk.ncci.basis.basis_pairs import basis_pairs
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.interaction.relative_motion.coupling import couple
from eigenwerk.ncci.interaction.relative_motion.relative import all_waves, local
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.problem import no_core_problem
from eigenwerk.ncci.results.raising import raised, raised_basis
from eigenwerk.ncci.results.two_body_density import expectations
from eigenwerk.ncci.run import run_case
from eigenwerk.ncci.sources import source_of, total
from eigenwerk.ncci.stored.dense import slater_condon


@pytest.fixture(scope="module")
def lithium(tmp_path_factory):
    path = tmp_path_factory.mktemp("case") / "case.toml"
    path.write_text(
        'nucleus = "6Li"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\nM = 1\nstates = 3\nobservables = "all"\n'
    )
    return run_case(read_cases(path)[0])


@pytest.mark.slow
def test_radii_of_pairs_are_those_of_relative_coordinates(lithium):
    """r_ij^2 as a local potential through brackets, beside r_i^2 + r_j^2 - 2 r_i.r_j."""
    relative = local(lambda s, l, r: r**2, 20.0, 8, all_waves(8))
    operators = {kind: couple(lithium.problem.pairs, {kind: relative}, 20.0) for kind in ("pp", "nn", "pn")}
    pairs = basis_pairs(lithium.basis, operators["pn"])
    found = expectations(lithium.basis, pairs, operators, torch.from_numpy(lithium.vectors_nb))
    for kind in operators:
        assert np.sqrt(found[kind] / 36) == pytest.approx(lithium.levels.values[f"r_{kind}"], abs=1e-7)


def test_terms_add_up_to_the_energy(lithium):
    values = lithium.levels.values
    assert values["T_int"] + values["V_NN"] + values["V_C"] == pytest.approx(lithium.levels.energy_n, abs=1e-8)


@pytest.mark.slow
def test_pair_densities_give_what_products_give(lithium):
    source = source_of(lithium.case)
    for name, operator in source.parts(lithium.case, lithium.problem).items():
        v = torch.from_numpy(lithium.vectors_nb)
        pairs = basis_pairs(lithium.basis, operator)
        product = pairs_hamiltonian(lithium.basis, pairs).apply(v)
        direct = (v * product).sum(dim=1).numpy()
        by_density = expectations(lithium.basis, pairs, {name: operator}, v)[name]
        assert by_density == pytest.approx(direct, abs=1e-9)


def test_one_and_two_body_ways_to_angular_momentum_agree(lithium):
    values = lithium.levels.values
    assert values["sum_J"] == pytest.approx(lithium.levels.twice_j_n / 2, abs=1e-8)
    assert values["occupations_p"].sum(axis=1) == pytest.approx([3, 3, 3], abs=1e-10)
    diagonal_p = np.einsum("nxx->n", values["density_p"])
    assert diagonal_p == pytest.approx([3, 3, 3], abs=1e-10)


def test_strengths_obey_detailed_balance(lithium):
    for name in ("M1", "E2"):
        matrix = lithium.levels.transitions[name]
        phase = (-1.0) ** ((lithium.levels.twice_j_n[:, None] - lithium.levels.twice_j_n) // 2)
        assert np.abs(matrix).max() > 0.5 and matrix == pytest.approx(phase * matrix.T, abs=1e-8)


def test_b_m1_of_a_state_to_itself_is_its_moment(lithium):
    """B(M1) = 3/(4 pi) (J+1)/J mu^2."""
    j = lithium.levels.twice_j_n[0] / 2
    strength = lithium.levels.transitions["M1"][0, 0] ** 2 / (2 * j + 1)
    expected = 3 / (4 * np.pi) * (j + 1) / j * lithium.levels.values["mu"][0] ** 2
    assert strength == pytest.approx(expected, rel=1e-8)


def test_diagonal_is_that_of_the_matrix(lithium, tmp_path):
    for text in ('nucleus = "4He"\nNmax = 2\n', 'nucleus = "3H"\nNmax = 4\n', 'nucleus = "5He"\nNmax = 1\n'):
        path = tmp_path / "case.toml"
        path.write_text(text + 'interaction = "JISP16"\nhw = 20\n')
        (case,) = read_cases(path)
        problem = no_core_problem(case)
        basis = problem.basis()
        pairs = basis_pairs(basis, total(source_of(case).parts(case, problem)))
        assert diagonal(basis, pairs).numpy() == pytest.approx(np.diagonal(slater_condon(basis, pairs)), abs=1e-10)


def levels_at(tmp_path, text, m, states):
    path = tmp_path / f"m{m}.toml"
    path.write_text(f'{text}states = {states}\nM = "{m}"\nobservables = ["moments", "transitions"]\n')
    return run_case(read_cases(path)[0])


CASES = {
    "6Li": ('nucleus = "6Li"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\n', (0, 5), (1, 4)),  # 1+ 3+ 0+ 2+ 2+
    "8Be": ('nucleus = "8Be"\ninteraction = "VALENCE/ckpot.snt"\n', (0, 7), (1, 6)),
    "10B": ('nucleus = "10B"\ninteraction = "VALENCE/ckpot.snt"\n', (2, 4), (1, 9)),  # Q of J = 3 hides at M = 2
}
"""Case, (M, states), (M that can tell, states)."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_one_m_cannot_tell_is_found_from_the_states_of_the_next(tmp_path, shared_dir, name):
    """M = 0 tells all moments and strengths, as a run with M = 1 does of the states that it has."""
    text, *both = CASES[name]
    text = text.replace("VALENCE", str(shared_dir / "reference/ncci/valence"))
    zero, one = (levels_at(tmp_path, text, *each).levels for each in both)
    (_, states), (_, others) = both
    places = [(n, m) for n in range(states) for m in range(others) if abs(zero.energy_n[n] - one.energy_n[m]) < 1e-5]
    assert len(places) >= 2
    for key in ("mu", "Q", "Q_p", "Dl_p", "Ds_n", "sum_J"):
        assert not np.isnan(zero.values[key]).any()
        for n, m in places:
            assert zero.values[key][n] == pytest.approx(one.values[key][m], abs=2e-4)
    for key in ("M1", "E2"):
        assert not np.isnan(zero.transitions[key]).any()
        for n, m in places:
            for k, l in places:
                assert abs(zero.transitions[key][n, k]) == pytest.approx(abs(one.transitions[key][m, l]), abs=2e-3)


def test_raised_states_have_the_length_that_the_algebra_gives(lithium):
    """|J+ x|^2 = <J^2> - M (M + 1), and states of J = M vanish."""
    basis, vectors_nb = lithium.basis, torch.from_numpy(lithium.vectors_nb)
    above = raised_basis(basis)
    length_n = torch.linalg.vector_norm(raised(basis, above, vectors_nb), dim=1).numpy()
    assert lithium.levels.twice_j_n.tolist() == [2, 6, 4]
    assert length_n**2 == pytest.approx(lithium.levels.values["J2"] - 2, abs=1e-8)
    assert above.dimension < basis.dimension
