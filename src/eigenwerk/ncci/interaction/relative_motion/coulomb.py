"""The Coulomb repulsion of protons, e^2/r."""


from eigenwerk.ncci.interaction.relative_motion.coupling import couple
from eigenwerk.ncci.interaction.relative_motion.relative import Relative, all_waves, local
from eigenwerk.ncci.interaction.two_body import PairSpace, TwoBody
from eigenwerk.units import COULOMB_MEV_FM, NUCLEON_MASS_MEV


def coulomb_relative(hw: float, max_quanta: int, nucleon_mass: float = NUCLEON_MASS_MEV) -> Relative:
    """e^2/r between point charges in the relative oscillator basis with 2n + l <= max_quanta."""
    return local(lambda s, l, r: COULOMB_MEV_FM / r, hw, max_quanta, all_waves(max_quanta), nucleon_mass)


def coulomb(space: PairSpace, hw: float, nucleon_mass: float = NUCLEON_MASS_MEV) -> TwoBody:
    """Two-body matrix elements of e^2/r between protons, in MeV."""
    return couple(space, {"pp": coulomb_relative(hw, space.highest_quanta("pp"), nucleon_mass)}, hw)
