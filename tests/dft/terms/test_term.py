"""What terms share: forms of a density, sums of parts of low rank, forces on spherical functions."""

import torch

from eigenwerk.dft.terms.term import Charges, LowRank


def test_charges_are_those_of_the_density_with_cores_and_nuclei(calculation, crystal, disturbed):
    """A neutral cell; each component has half of the cores."""
    calc = calculation(crystal("fe_bent"), spins=2, cutoff_eV=80.0)
    density = disturbed(calc.atoms, 2, calc.parameters.electrons)
    charges = Charges(calc.atoms, density)
    assert charges.smooth_sg is charges.smooth_sg and charges.charge_g is charges.charge_g
    torch.testing.assert_close(charges.smooth_sg - density.density_sg, calc.atoms.pseudo_core_g.expand(2, -1) / 2)
    torch.testing.assert_close(charges.total_g, density.density_sg.sum(0) + calc.atoms.pseudo_core_g)
    count = len(charges.total_g)
    torch.testing.assert_close(charges.charge_g[count:], calc.atoms.compensation_charge(charges.occupancy_x)[count:])
    exact = Charges(calc.atoms, calc.starting_density())
    assert abs(complex(exact.charge_g[0])) * calc.basis.volume < 1e-6
    assert [tuple(block_saij.shape[:2]) for block_saij in charges.blocks] == [(2, 2)]


def test_sum_of_parts_of_low_rank_acts_like_both():
    draw, parts = torch.Generator().manual_seed(1), []
    for rank in (2, 3):
        weight_smm = torch.randn((2, rank, rank), generator=draw, dtype=torch.complex128)
        row_skmG = torch.randn((2, 3, rank, 20), generator=draw, dtype=torch.complex128)
        parts.append(LowRank(row_skmG, weight_smm + weight_smm.mH))
    assert LowRank.joined([]) is None and LowRank.joined(parts[:1]) is parts[0]
    both = LowRank.joined(parts)

    def matrix(part):
        return part.row_skmG.mT @ part.weight_smm[:, None] @ part.row_skmG.conj()

    torch.testing.assert_close(matrix(both), matrix(parts[0]) + matrix(parts[1]))
    assert both.row_skmG.shape[2] == 5 and both.weight_smm[0, 1, 3] == 0
