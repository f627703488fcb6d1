"""All terms of the energy there are: the one table that potentials are made from.

The kinetic energy of the orbitals is in the Hamiltonian.  A new term is its file, its settings and a row here.
"""

from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.exchange.one_centre import OneCentreExchange
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.dispersion import Dispersion
from eigenwerk.dft.terms.hartree import Hartree
from eigenwerk.dft.terms.hubbard import Hubbard
from eigenwerk.dft.terms.non_local import NonLocalTerm
from eigenwerk.dft.terms.one_centre import OneCentre
from eigenwerk.dft.terms.term import Scene, Term
from eigenwerk.dft.terms.xc import ExchangeCorrelation
from eigenwerk.dft.terms.zero_potential import ZeroPotential

TERMS: tuple[type[Term], ...] = (
    OneCentre, Hartree, ZeroPotential, ExchangeCorrelation, NonLocalTerm, Dipole, Hubbard, OneCentreExchange,
    ExactExchange, Dispersion,
)  # fmt: skip
"""In the order in which they are summed."""


def potential_builder(scene: Scene) -> PotentialBuilder:
    """Density -> potential, with the terms that the settings ask for."""
    terms = [kind.of(scene) for kind in TERMS]
    return PotentialBuilder(scene.atoms, [term for term in terms if term is not None])
