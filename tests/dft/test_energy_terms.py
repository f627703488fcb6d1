"""The table of terms: what a term declares is what it does, and settings alone decide which there are."""

from dataclasses import replace

import pytest

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.dispersion.correction import D2, DispersionCorrection
from eigenwerk.dft.energy_terms import TERMS, potential_builder
from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.exchange.one_centre import OneCentreExchange
from eigenwerk.dft.settings.dipole import DipoleCorrection
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.dispersion import Dispersion
from eigenwerk.dft.terms.hubbard import Hubbard
from eigenwerk.dft.terms.non_local import NonLocalTerm
from eigenwerk.dft.terms.term import Charges
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.non_local import NonLocal

ASKED = {
    "dipole": (Dipole, DipoleCorrection((2,), (0.0, 0.0, 0.07), True)),
    "hubbard": (Hubbard, {"Al": (1, 0.1)}),
    "dispersion": (
        Dispersion,
        DispersionCorrection(D2, "pbe", {"s6": 0.75, "sr": 1.0, "d": 20.0}, 30.0, None, {"Al": (180.0, 3.0)}),
    ),
    "non_local": (NonLocalTerm, NonLocal()),
    "hybrid": (ExactExchange, Hybrid.of(0.25, 0.11)),
}
"""Terms that not every calculation has, by the setting that asks for them."""


@pytest.fixture(scope="module")
def every(calculation, crystal):
    """A calculation with all terms."""
    return calculation(crystal("al_layers"), **{name: given for name, (_, given) in ASKED.items()})


def test_the_calculation_has_a_term_of_each_kind_in_the_order_of_the_table(every):
    assert [type(term) for term in every.builder.terms] == list(TERMS)


@pytest.mark.parametrize("name", ASKED)
def test_a_term_is_there_only_if_its_setting_asks_for_it(every, name):
    kind, _ = ASKED[name]
    off = {} if name == "hubbard" else None
    scene = replace(every.scene, parameters=replace(every.parameters, **{name: off}))
    assert every.builder.term(kind) is not None and potential_builder(scene).term(kind) is None


def test_without_exact_exchange_the_functional_is_whole(every):
    scene, semilocal = every.scene, every.scene.semilocal
    assert "PBE" in semilocal.functional.title and semilocal.functional.title != scene.functional.title
    kinds = {type(term) for term in potential_builder(semilocal).terms}
    assert kinds == set(TERMS) - {ExactExchange, OneCentreExchange}


@pytest.mark.parametrize("kind", TERMS, ids=lambda kind: kind.__name__)
def test_a_term_gives_what_it_declares_and_needs_what_it_says(every, disturbed, kind):
    """Fields that it does not need change neither its energies nor its derivatives, which are by those that it does."""
    first, second = (disturbed(every.atoms, 1, every.parameters.electrons, seed=seed) for seed in (1, 2))
    term = every.builder.term(kind)
    found = term(Charges(every.atoms, first))
    assert (*found.names, *found.constants) == tuple(kind.words)
    assert found.waves.keys() | found.blocks.keys() <= term.needs
    kept = {name: (first if name in term.needs else second).value[name] for name in first.value}
    other = term(Charges(every.atoms, Density(kept, first.spin)))
    assert other.energy_e.tolist() == found.energy_e.tolist()
    with pytest.raises(NotImplementedError, match=kind.__name__):
        term.second(Charges(every.atoms, first), first)


def test_a_density_without_a_field_that_is_needed_is_refused(every, disturbed):
    density = disturbed(every.atoms, 1, every.parameters.electrons)
    bare = Density({name: value for name, value in density.value.items() if name != "occupancy"}, density.spin)
    with pytest.raises(RuntimeError, match="need: occupancy"):
        every.builder(bare)
