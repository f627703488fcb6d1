"""Units and constants, in one place (CODATA 2018).

`dft` works in hartree and bohr, `ncci` in MeV and fm.  Electronvolt, angstrom, femtosecond and
kilobar live in `io`, `inputs` and `cli` only; they are converted with the factors below.

Source: E. Tiesinga et al., Rev. Mod. Phys. 93, 025010 (2021), CODATA 2018.
"""

HARTREE_EV = 27.211386245988
"""One hartree in electronvolt."""

BOHR_ANGSTROM = 0.529177210903
"""One bohr in angstrom."""

BOLTZMANN_EV_PER_K = 8.617333262145179e-05
"""Boltzmann's constant in electronvolt per kelvin."""

FORCE_EV_PER_ANGSTROM = HARTREE_EV / BOHR_ANGSTROM
"""One hartree per bohr in electronvolt per angstrom."""
