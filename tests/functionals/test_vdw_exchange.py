"""Exchange of functionals with non-local correlation: small and large gradients, and numbers of one's own."""

import pytest
import torch

from eigenwerk.errors import InputError
from eigenwerk.functionals import vdw_exchange as vdw
from eigenwerk.functionals.pbe import PBE, enhancement
from eigenwerk.functionals.table import FAMILIES, FUNCTIONALS, find_functional, member_tag

SMALL = {
    vdw.opt_pbe: 0.175519, vdw.rpw86: 0.1234, vdw.c09: 0.0617 + 1.245 * 0.0483 / 2, vdw.lv_rpw86: 0.8491 / 9,
    FUNCTIONALS["BO"].shares.exchange.keywords["factor"]: 0.22,
    FUNCTIONALS["MK"].shares.exchange.keywords["factor"]: 0.1234,
}  # fmt: skip
"""Published coefficients of s² where gradients are small."""


@pytest.mark.parametrize(("factor", "mu"), SMALL.items(), ids=("optPBE", "rPW86", "C09", "LV", "optB88", "optB86b"))
def test_small_gradients_have_the_published_coefficient(factor, mu):
    s2_x = torch.tensor([0.0, 1e-6], dtype=torch.float64)
    assert float(factor(s2_x)[0]) == pytest.approx(1.0, abs=1e-15)
    assert float(factor(s2_x)[1] - 1) / 1e-6 == pytest.approx(mu, rel=1e-3)


def test_large_gradients_go_as_published():
    """rPW86, LV-rPW86 and optB86b with s^(2/5); optPBE and C09 have a bound, optB88 goes with s/ln s."""
    far_x = torch.tensor([1e10, 1e12], dtype=torch.float64)
    for factor in (vdw.rpw86, vdw.lv_rpw86, FUNCTIONALS["MK"].shares.exchange.keywords["factor"]):
        one, other = factor(far_x).tolist()
        assert other / one == pytest.approx(10**0.4, rel=0.01)
    assert float(vdw.opt_pbe(far_x)[1]) == pytest.approx(1 + 1.04804, rel=1e-6)
    assert float(vdw.c09(far_x)[1]) == pytest.approx(1 + 1.245, rel=1e-6)


def test_optpbe_with_the_numbers_of_pbe_lies_between_pbe_and_rpbe():
    s2_x = torch.linspace(0, 20, 50, dtype=torch.float64)
    rational = enhancement(s2_x, type(PBE)(1.04804, 0.175519, "rational", PBE.beta, PBE.gamma, PBE.gas))
    exponential = enhancement(s2_x, type(PBE)(1.04804, 0.175519, "exponential", PBE.beta, PBE.gamma, PBE.gas))
    torch.testing.assert_close(vdw.opt_pbe(s2_x), 0.945268 * rational + 0.054732 * exponential, rtol=1e-14, atol=0.0)


def test_numbers_of_one_s_own_make_a_functional_that_its_tag_finds_again():
    tag = member_tag(FAMILIES["MK"], 10 / 81, 0.7114)
    found = find_functional(tag)
    assert found is find_functional(found.tag) and found is not FUNCTIONALS["MK"]
    values = torch.tensor([[0.1]], dtype=torch.float64), torch.tensor([[0.05]], dtype=torch.float64)
    same = find_functional("GGA_X_B86_R+GGA_C_PBE").energy(*values)
    assert float(found.energy(*values)) == pytest.approx(float(same), rel=1e-14)


def test_usual_numbers_in_few_digits_are_the_functional_itself():
    assert member_tag(FAMILIES["BO"], 0.1833333333, 0.22) == "BO" and member_tag(FAMILIES["MK"], 0.1234, 1.0) == "MK"
    with pytest.raises(InputError, match="no such functional"):
        find_functional("PE(0.1,0.2)")
