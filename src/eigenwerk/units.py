"""Units and constants, in one place (CODATA 2018).

`dft` works in hartree and bohr, `ncci` in MeV and fm.  Electronvolt, angstrom, femtosecond and
kilobar live in `io`, `inputs` and `cli` only; they are converted with the factors below.

Source: E. Tiesinga et al., Rev. Mod. Phys. 93, 025010 (2021), CODATA 2018.
"""

HARTREE_EV = 27.211386245988
"""One hartree in electronvolt."""

BOHR_ANGSTROM = 0.529177210903
"""One bohr in angstrom."""

FORCE_EV_PER_ANGSTROM = HARTREE_EV / BOHR_ANGSTROM
"""One hartree per bohr in electronvolt per angstrom."""

EV_PER_ANGSTROM3_GPA = 160.2176634
"""One electronvolt per cubic angstrom in gigapascal."""

STRESS_KILOBAR = HARTREE_EV / BOHR_ANGSTROM**3 * 10 * EV_PER_ANGSTROM3_GPA
"""One hartree per bohr³ in kilobar; ten of these are a gigapascal."""

FREQUENCY_THZ = 15.633304239856193
"""√(eV/amu)/Å/2π in terahertz: from the root of a force constant over a mass to a frequency."""

THZ_PER_CM = 33.3564095198152
"""One terahertz in waves per centimetre."""

THZ_MEV = 4.135667696923859
"""The energy of a quantum of one terahertz in millielectronvolt."""

HBAR_C_MEV_FM = 197.3269804
"""Planck's constant / 2π times the speed of light in MeV fm."""

NUCLEON_MASS_MEV = 938.92
"""Mass of a nucleon times c² in MeV, the mean of proton and neutron as MFDn's input files round it."""

COULOMB_MEV_FM = HBAR_C_MEV_FM / 137.035999084
"""e² of the Coulomb energy e²/r in MeV fm."""

BOLTZMANN_EV_KELVIN = 1.380649e-23 / 1.602176634e-19
"""Boltzmann's constant in electronvolt per kelvin."""

AMU_EV_FS2_PER_ANGSTROM2 = 1.66053906660e-17 / 1.602176634e-19
"""One atomic mass unit in eV fs²/Å², so that a mass times a squared velocity in Å/fs is an energy in eV."""
