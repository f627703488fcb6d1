"""Factors of the preconditioner of mixing, fitted to the measured response."""

import math

from eigenwerk.dft.scf.mixing.mixing_history import History

FITTED_STEPS = 5
"""Newest changes that take part in the fits of linear factors."""

LARGEST_AMIX = 1.0
"""Upper end of fitted factors of the total density: a residual that nothing screens is taken whole."""

LARGEST_BMIX = 1.5
"""Upper end of fitted Kerker wave vectors, 1/bohr: the Thomas-Fermi value of 0.3 electrons per bohr^3 is 1.6."""


def fitted_magnetic_factor(history: History, smallest: float, largest: float) -> float:
    """a of -dR a = dU for the magnetisation, by least squares over the last changes.

    That is the second step length of J. Barzilai and J. M. Borwein, IMA J. Numer. Anal. 8, 141 (1988).  A magnet
    answers a change of its magnetisation by less than that change, so a > 1; the levels of an atom, which empty and
    fill at once, by more.  a lies between AMIX (smallest), what serves atoms best, and AMIX_MAG (largest), which is
    also taken where the residual grows with the change (a moment on its way to be found).
    """
    top, bottom = history.fits_c[history.places[-FITTED_STEPS:], :2].sum(0).tolist()
    return largest if top >= 0 else min(max(-top / bottom, smallest), largest)


def fitted_charge_factor(history: History, smallest: float) -> float:
    """A of -A S dR = dU for the total density, S = K/A, by least squares over the last changes.

    As `fitted_magnetic_factor`, for what the Kerker factor leaves to be screened.  Between AMIX (smallest) and
    LARGEST_AMIX: where charge answers by more than it was moved, the history has to learn it.
    """
    top, bottom = history.fits_c[history.places[-FITTED_STEPS:], 4:].sum(0).tolist()
    return max(smallest, min(-top / bottom, LARGEST_AMIX)) if bottom > 0 else smallest


def fitted_wave_vector(history: History, otherwise: float) -> float:
    """B of the response -dR = (1 + B^2 / g^2) dU that fits the history of the total density best, 1/bohr.

    That is the dielectric function of a metal at small g; in an insulator B comes out small.  otherwise: where nothing
    is known.
    """
    top, bottom = history.fits_c[history.places, 2:4].sum(0).tolist()
    return math.sqrt(min(max(top / bottom, 0.0), LARGEST_BMIX**2)) if bottom > 0 else otherwise
