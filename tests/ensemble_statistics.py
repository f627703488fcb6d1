"""What a trajectory says of its ensemble, as probabilities: small ones speak against it."""

import numpy as np

from eigenwerk.motion.dynamics.trajectory import KILOBAR
from eigenwerk.units import AMU_EV_FS2_PER_ANGSTROM2
from when_used import when_used

stats = when_used("scipy", "stats")  # 1 s to load, for all that collect tests


def correlation_time(series_n):
    """2 τ: so many points of a series count as one (Sokal's window: as long as five times the sum so far)."""
    deviation_n = np.asarray(series_n, float) - np.mean(series_n)
    length = len(deviation_n)
    power_n = np.abs(np.fft.rfft(deviation_n, 2 * length)) ** 2
    correlation_n = np.fft.irfft(power_n)[:length]
    sums_n = 2 * np.cumsum(correlation_n / correlation_n[0]) - 1
    ends_n = np.arange(length) >= 5 * sums_n
    return max(1.0, float(sums_n[np.argmax(ends_n)])) if ends_n.any() else float(length)


BLOCKS = 25
"""Into which a trajectory is cut; their means are taken for independent."""


def deviation_of_mean(series_nx, exact_x):
    """(mean - exact) in standard errors, as numbers that are normal if the blocks' means are (from Student's law)."""
    length = len(series_nx) // BLOCKS
    means_bx = series_nx[: length * BLOCKS].reshape(BLOCKS, length, *series_nx.shape[1:]).mean(1)
    student_x = (means_bx.mean(0) - exact_x) / (means_bx.std(0, ddof=1) / np.sqrt(BLOCKS))
    return -np.sign(student_x) * stats.norm.ppf(stats.t.sf(np.abs(student_x), BLOCKS - 1))


def mean_is(series_n, exact):
    """Probability of a mean so far from the exact one."""
    return float(2 * stats.norm.sf(abs(deviation_of_mean(series_n, exact))))


def means_are(series_nx, exact_x):
    """Probability of means that together are so far from the exact ones: χ² of their deviations."""
    deviation_x = deviation_of_mean(series_nx, exact_x)
    return float(stats.chi2.sf((deviation_x**2).sum(), len(deviation_x)))


def law_is(series_n, law):
    """Probability of a sample so unlike a law (Kolmogorov and Smirnov), of points that are far enough apart."""
    apart = int(np.ceil(2 * correlation_time(series_n)))
    return float(stats.kstest(series_n[::apart], law.cdf if hasattr(law, "cdf") else law).pvalue)


def drift(series_n, atoms, step):
    """Slope of a conserved quantity, meV per atom and ps, and its spread about it, meV per atom."""
    time_n = np.arange(len(series_n)) * step / 1000
    slope, offset = np.polyfit(time_n, series_n, 1)
    return 1000 * slope / atoms, 1000 * np.std(series_n - slope * time_n - offset) / atoms


def masses(crystal):
    """Of coordinates, eV fs²/Å², and each one's share of the motion without that of the centre of mass."""
    mass_x = np.repeat(crystal.masses_a, 3) * AMU_EV_FS2_PER_ANGSTROM2
    return mass_x, 1 - 3 * mass_x / mass_x.sum()


def kinetic(crystal, found, kt, count):
    """Probabilities of the velocities in a bath, on any surface; count: degrees of freedom of the velocities."""
    mass_x, share_x = masses(crystal)
    each_x = kt * (share_x if count < len(mass_x) else np.ones(len(mass_x)))
    speeds_nx = np.array([report.velocities_av.ravel() for _, report in found]) * np.sqrt(mass_x)
    kinetic_n = np.array([report.kinetic for _, report in found])
    return {
        "mean kinetic energy": mean_is(kinetic_n, count * kt / 2),
        "law of the kinetic energy": law_is(kinetic_n, stats.gamma(count / 2, scale=kt)),
        "kinetic energy by atom and direction": means_are(speeds_nx**2, each_x),
        "law of one velocity": law_is(speeds_nx[:, 0] / np.sqrt(each_x[0]), stats.norm()),
    }


def positions(crystal, found, kt):
    """Probability of -⟨u F⟩ of each atom and direction, which is kT on any surface but for the centre of mass."""
    mass_x, share_x = masses(crystal)
    moved_nav = np.array([point.arrangement.position_av for point, _ in found]) - crystal.start.position_av
    moved_nav -= np.einsum("a,nav->nv", crystal.masses_a, moved_nav)[:, None] / crystal.masses_a.sum()
    forces_nav = np.array([point.forces_av for point, _ in found])
    work_nx = -(moved_nav * forces_nav).reshape(len(found), -1)
    return {
        "mean virial": mean_is(work_nx.sum(1), (len(mass_x) - 3) * kt),
        "virial by atom and direction": means_are(work_nx, share_x * kt),
    }


def modes(crystal, found, kt, step):
    """Probabilities of the potential energy of a harmonic crystal.

    A step of velocity Verlet keeps K + Σ (1 - ω²δ²/4) U_mode of a harmonic crystal, so that this is what the bath's
    law holds for: the potential energy of a mode is larger than kT/2 by 1 / (1 - ω²δ²/4).
    """
    mass_x, _ = masses(crystal)
    square_x, mode_xx = np.linalg.eigh(crystal.hessian / np.sqrt(np.outer(mass_x, mass_x)))
    moving_x = square_x > 1e-8
    places_nx = np.array([(point.arrangement.position_av - crystal.start.position_av).ravel() for point, _ in found])
    stiff_x = 0.5 * square_x * (1 - square_x * step**2 / 4)
    energy_nx = (stiff_x * (places_nx * np.sqrt(mass_x) @ mode_xx) ** 2)[:, moving_x]
    count = int(moving_x.sum())
    return {
        "mean potential energy": mean_is(energy_nx.sum(1), count * kt / 2),
        "law of the potential energy": law_is(energy_nx.sum(1), stats.gamma(count / 2, scale=kt)),
        "potential energy by mode": means_are(energy_nx, np.full(count, kt / 2)),
    }


def pressures(found, kt, pressure, missing):
    """Probability of the inner pressure: p - n kT/Ω in the mean, n = (3N - f)/3, on any surface."""
    inverse_n = np.array([1 / report.more["volume"] for _, report in found])
    pressure_n = np.array([report.more["pressure"] for _, report in found]) / KILOBAR
    return {"mean pressure": mean_is(pressure_n + missing * kt * inverse_n, pressure)}


def isobaric(crystal, found, kt, pressure, free_shape, cell_with_mass):
    """Probabilities of an elastic crystal's trajectory at a pressure (eV/Å³); free_shape: whether angles move too."""
    start_cv = crystal.start.lattice_cv
    deformation_nvv = np.linalg.solve(start_cv, np.array([point.arrangement.lattice_cv for point, _ in found]))
    strain_nx = 0.5 * np.log(np.linalg.eigvalsh(np.swapaxes(deformation_nvv, 1, 2) @ deformation_nvv))
    larger_n = strain_nx.sum(1)
    law_x, cumulative_x, mean, spread, other = crystal.law_of_volume(kt, pressure)
    answers = {
        "mean of ln Ω": mean_is(larger_n, mean),
        "fluctuation of ln Ω": mean_is((larger_n - mean) ** 2, spread**2),
        "law of ln Ω": law_is(larger_n, lambda x: np.interp(x, law_x, cumulative_x)),
    }
    if free_shape:
        other_n = ((strain_nx - strain_nx.mean(1, keepdims=True)) ** 2).sum(1)
        answers["mean square of the shape"] = mean_is(other_n, other)
    if cell_with_mass:
        cell_n = np.array([report.more["cell_kinetic"] for _, report in found])
        answers["law of the cell's kinetic energy"] = law_is(cell_n, stats.gamma(4.5, scale=kt))
    return answers
