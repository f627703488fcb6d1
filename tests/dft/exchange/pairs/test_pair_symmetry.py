"""Every pair once gives what all pairs give."""

import pytest
import torch

from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs import pair_symmetry
from eigenwerk.dft.exchange.pairs.pair_derivatives import exchange_derivatives
from eigenwerk.dft.exchange.pairs.pair_symmetry import applied_to_own
from eigenwerk.dft.exchange.pairs.pairs import PairExchange

CASES = {
    "complex": {"mesh": (1, 1, 2), "symmetry_level": -1},
    "complex, more bands than occupied": {"mesh": (1, 2, 1), "symmetry_level": -1, "occupied": 4, "bands": 7},
    "every second q-point": {"mesh": (1, 1, 2), "symmetry_level": -1, "downsampling": Downsampling((1, 1, 2))},
    "real in space, fractional": {
        "name": "lih_bent", "occupied": 3, "bands": 5, "mesh": (1, 1, 2), "real": True, "cutoff_eV": 150.0, "top": 0.6,
    },
    "Gamma": {"real": True, "occupied": 5, "bands": 6},
    "real by inversion, grid shifted": {
        "name": "pairs", "occupied": 11, "bands": 13, "mesh": (2, 1, 1), "shift": (0.5, 0, 0), "symmetry_level": 2,
        "real": True,
    },
    "some points by symmetry": {"name": "lih_bent", "mesh": (2, 2, 1), "occupied": 2, "cutoff_eV": 150.0},
    "two spins, fractional": {
        "name": "o2", "occupied": 6, "bands": 8, "spins": 2, "cutoff_eV": 150.0, "real": True, "top": 0.3,
    },
}  # fmt: skip


@pytest.fixture
def counted(monkeypatch):
    """Pairs once also where it does not pay; counts pairs of fields."""
    monkeypatch.setattr(pair_symmetry, "pairs_once", lambda *sizes: True)
    monkeypatch.setattr(pair_symmetry, "PIECES", 4)
    count, add = [0], PairExchange._add

    def counting(self, sources, charges, table, targets, mirrored=None):
        count[0] += len(sources.u_nR) * len(targets.u_tR)
        add(self, sources, charges, table, targets, mirrored)

    monkeypatch.setattr(PairExchange, "_add", counting)
    return count


@pytest.mark.fast("every second q-point", "real in space, fractional", "Gamma", "complex, more bands than occupied")
@pytest.mark.parametrize("name", CASES)
def test_pairs_once_give_what_all_pairs_give(name, exchanging, counted):
    case = exchanging(**CASES[name])
    every = counted[0]
    counted[0] = 0
    found = applied_to_own(case.operator, case.coeff, case.occ)
    assert 0 < counted[0] < every
    torch.testing.assert_close(found, case.image, atol=1e-12 * float(case.image.abs().max()), rtol=0)


@pytest.mark.fast("Gamma", "real in space, fractional")
@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_pairs_once_are_those_of_all_pairs(name, exchanging, counted, monkeypatch):
    case = exchanging(**CASES[name])
    words = case.operator, case.sources, case.coeff, case.filling
    count, add = [0], PairExchange._differentiate

    def counting(self, sources, charges, table, targets, *more):
        count[0] += len(sources.u_nR) * len(targets.u_tR)
        add(self, sources, charges, table, targets, *more)

    monkeypatch.setattr(PairExchange, "_differentiate", counting)
    once = exchange_derivatives(*words)
    fewer, count[0] = count[0], 0
    monkeypatch.setattr(pair_symmetry, "pairs_once", lambda *sizes: False)
    every = exchange_derivatives(*words)
    assert 0 < fewer < count[0]
    for found, wanted in ((once.force_av, every.force_av), (once.strain_vv, every.strain_vv),
                          (once.pencil_sknI, every.pencil_sknI)):  # fmt: skip
        torch.testing.assert_close(found, wanted, atol=1e-11 * float(wanted.abs().max()), rtol=0)


@pytest.mark.slow
def test_threads_do_not_change_more_than_rounding(exchanging, counted):
    case = exchanging(**CASES["Gamma"])
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = applied_to_own(case.operator, case.coeff, case.occ)
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(found, case.image, atol=1e-12, rtol=0)


def test_too_little_memory_and_few_orbitals_at_a_time_take_all_pairs(exchanging, counted, monkeypatch):
    case = exchanging(**CASES["complex"])
    every, few = counted[0], ExchangeOperator(case.calc.atoms, case.operator.kernel, 0.4, together=2)
    counted[0] = 0
    found = applied_to_own(few, case.coeff, case.occ)
    assert counted[0] == every
    torch.testing.assert_close(found, case.image, atol=1e-12, rtol=0)
    monkeypatch.setattr(pair_symmetry, "bytes_for_once", lambda *sizes: 1e12)
    counted[0] = 0
    applied_to_own(case.operator, case.coeff, case.occ)
    assert counted[0] == every
