"""Sums over jumps of one nucleon agree with operators applied determinant by determinant."""

import numpy as np
import pytest
import torch

from eigenwerk.ncci.orbitals import Orbitals
from eigenwerk.ncci.results.one_body_sums import occupations, one_body_densities, one_body_matrices, quanta_shares
from random_pairs import no_core_basis, valence_basis

P_SHELL = Orbitals(np.array([0, 0]), np.array([1, 1]), np.array([1, 3]))


def bases():
    return {
        "6Li Nmax 2": no_core_basis(3, 3, 2, 2),
        "5He Nmax 3": no_core_basis(2, 3, 3, 1),
        "3n Nmax 2": no_core_basis(0, 3, 2, 1),
        "3H Nmax 4": no_core_basis(1, 2, 4, 1),
        "9Be in the p shell": valence_basis(P_SHELL, P_SHELL, 2, 3, 1, 1),
    }


def random_vectors(basis, count=3):
    generator = torch.Generator().manual_seed(5)
    v = torch.randn((count, basis.dimension), generator=generator, dtype=torch.float64)
    return v / torch.linalg.vector_norm(v, dim=1, keepdim=True)


def slow_density(basis, species, left, right):
    """<left|a+_x a_y|right> by creation and annihilation on lists of occupied states."""
    proton_b, neutron_b = basis.all_states()
    occupied = [
        (tuple(basis.protons.occupied_di[p].tolist()), tuple(basis.neutrons.occupied_di[n].tolist()))
        for p, n in zip(proton_b, neutron_b, strict=True)
    ]
    number = {pair: b for b, pair in enumerate(occupied)}
    which = 0 if species == "p" else 1
    states = (basis.protons if species == "p" else basis.neutrons).states
    rho = np.zeros((len(states), len(states)))
    for b, pair in enumerate(occupied):
        for i, y in enumerate(pair[which]):
            rest = pair[which][:i] + pair[which][i + 1 :]
            for x in range(len(states)):
                same = states.twice_m_x[x] == states.twice_m_x[y] and states.parity_x[x] == states.parity_x[y]
                if x in rest or not same:
                    continue
                place = sum(state < x for state in rest)
                moved = (*rest[:place], x, *rest[place:])
                end = number.get((moved, pair[1]) if which == 0 else (pair[0], moved))
                if end is not None:
                    rho[x, y] += (-1) ** (i + place) * left[end] * right[b]
    return rho


@pytest.mark.parametrize("name", bases())
@pytest.mark.parametrize("species", ["p", "n"])
def test_densities_and_matrices_are_those_of_the_definition(name, species):
    basis = bases()[name]
    v = random_vectors(basis)
    size = len((basis.protons if species == "p" else basis.neutrons).states)
    o = np.random.default_rng(2).normal(size=(size, size))
    slow = slow_density(basis, species, v[0].numpy(), v[2].numpy())
    assert np.allclose(one_body_matrices(basis, species, {"o": o}, v)["o"][0, 2], (o * slow).sum(), atol=1e-12)
    rho = one_body_densities(basis, species, v)
    assert np.allclose(rho[1], slow_density(basis, species, v[1].numpy(), v[1].numpy()), atol=1e-12)
    between = one_body_densities(basis, species, v[:1], v[2:])
    assert np.allclose(between[0], slow, atol=1e-12)


@pytest.mark.parametrize("name", bases())
def test_occupations_are_the_diagonal_of_the_density(name):
    basis = bases()[name]
    v = random_vectors(basis)
    for species, number in (("p", basis.protons.nucleons), ("n", basis.neutrons.nucleons)):
        found = occupations(basis, species, v)
        assert np.allclose(found.sum(axis=1), number)
        diagonal = np.diagonal(one_body_densities(basis, species, v), axis1=1, axis2=2)
        orbital_x = (basis.protons if species == "p" else basis.neutrons).states.orbital_x
        for a in range(found.shape[1]):
            assert np.allclose(found[:, a], diagonal[:, orbital_x == a].sum(axis=1), atol=1e-12)


def test_shares_of_quanta_add_up_to_one():
    basis = no_core_basis(3, 3, 4, 0)
    share = quanta_shares(basis, 2, random_vectors(basis))
    assert share.shape[1] == 3 and np.allclose(share.sum(axis=1), 1) and (share > 0).all()
