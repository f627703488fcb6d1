"""Density mixing on models whose response is known: metals, slabs, magnets, maps that saturate."""

import math

import pytest
import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.scf.mixing.mixing import MixSettings, PulayMixer
from eigenwerk.dft.spin.form import OF_ISPIN
from eigenwerk.errors import InputError
from thread_ranks import on_thread_ranks

POINTS, AREA = 201, 20.0


def uniform(r):
    return torch.ones_like(r)


def slab(r):
    """Metal in the middle half, vacuum outside."""
    return torch.sigmoid((0.25 - (r - 0.5).abs()) * 200) + 1e-9



def number(mixer, name):
    """What a mixer uses, as its memory says."""
    return mixer.memory()()[name]


class Line:
    """Electrons on a line of `length` bohr with a local Thomas-Fermi response chi_s(r) of each spin.

    V_s = V_Hartree[n - n*] -/+ I m / 2 and n_s,out = n_s* - chi_s (V_s - mu), mu from the number of electrons; tanh
    limits V_s where `limit` is set.  chi is scaled to a screening of k_TF = 1/bohr; `stoner` is the largest I chi;
    `asymmetry` = (chi_up - chi_down) / chi couples density and magnetisation; `noise` spoils the output by this share
    of the residual.  Two occupancies per channel follow the density linearly.
    """

    def __init__(self, length, shape=uniform, stoner=0.0, asymmetry=0.0, limit=0.0, noise=0.0, spins=1):
        r = torch.arange(POINTS, dtype=torch.float64) / POINTS
        chi = shape(r) / (4 * math.pi)
        self.chi_sR = torch.stack([chi * (1 + asymmetry) / 2, chi * (1 - asymmetry) / 2])
        self.g = 2 * math.pi / length * torch.arange(POINTS // 2 + 1, dtype=torch.float64)
        self.norm2, self.weight = self.g**2, torch.where(self.g > 0, 2.0, 1.0).double()
        self.exchange = 2 * stoner / float(chi.max())
        self.limit, self.noise, self.spins, self.volume = limit, noise, spins, length * AREA
        self.generator = torch.Generator().manual_seed(1)
        self.target = torch.zeros(2, len(self.g), dtype=torch.complex128)
        self.target[0] = torch.fft.rfft(0.03 + 0.02 * torch.cos(6 * math.pi * r)) / POINTS
        self.shadow = torch.randn(2, len(self.g), generator=self.generator, dtype=torch.float64) / (1 + self.norm2)

    def start(self, moment=0.02, waves=1.0):
        """Neutral deviations, whose potential stays finite at small g; `waves` scales those of the magnetisation."""
        generator = torch.Generator().manual_seed(0)
        random = torch.view_as_complex(torch.randn(2, len(self.g), 2, generator=generator, dtype=torch.float64))
        deviation = random * 0.02 * self.norm2 / (1 + 10 * self.norm2)
        deviation[1] *= waves
        deviation[1, 0] = moment
        density = (self.target + deviation)[: self.spins]
        return density, self.occupancy(density)

    def occupancy(self, density):
        return density.real @ self.shadow.T

    def output(self, density):
        d = torch.zeros_like(self.target)
        d[: self.spins] = density - self.target[: self.spins]
        coulomb = torch.where(self.norm2 > 0, 4 * math.pi / self.norm2.clamp_min(1e-9), 0)
        hartree, moment = (torch.fft.irfft(a * POINTS, n=POINTS) for a in (coulomb * d[0], d[1]))
        v_sR = torch.stack([hartree - self.exchange * moment / 2, hartree + self.exchange * moment / 2])
        if self.limit:
            v_sR = torch.tanh(v_sR / self.limit) * self.limit
        mu = (self.chi_sR * v_sR).sum() / self.chi_sR.sum()
        up, down = -self.chi_sR * (v_sR - mu)
        out = self.target + torch.fft.rfft(torch.stack([up + down, up - down])) / POINTS
        out = out[: self.spins]
        random = torch.view_as_complex(torch.randn(*out.shape, 2, generator=self.generator, dtype=torch.float64))
        random[0, 0] = 0
        out = out + self.noise * random * (out - density).abs()
        return out, self.occupancy(out)

    def mixer(self, **settings):
        return PulayMixer(MixSettings(**settings), self.norm2, self.weight, self.volume)


def fields(density, occupancy):
    return Density.of(density, occupancy, OF_ISPIN[len(density)])


def mixed(mixer, density, occupancy, out, occupancy_out):
    """Next density and occupancies, and the residual."""
    following, residual = mixer.mix(fields(density, occupancy), fields(out, occupancy_out))
    return following.density_sg, following.occupancy_sx, residual


def converge(model, limit=1e-6, most=100, start=(), **settings):
    """(steps to a residual of `limit` electrons, mixer, density, residuals)."""
    mixer = model.mixer(**settings)
    density, occupancy = model.start(*start)
    residuals = []
    while len(residuals) < most and (not residuals or residuals[-1] > limit):
        out, occupancy_out = model.output(density)
        density, occupancy, residual = mixed(mixer, density, occupancy, out, occupancy_out)
        residuals.append(residual)
    return len(residuals), mixer, density, residuals


@pytest.mark.parametrize(
    ("length", "shape", "noise", "most"),
    [
        (8, uniform, 0.0, 10),
        (100, uniform, 0.0, 23),
        (100, uniform, 0.1, 28),
        (40, slab, 0.0, 23),
        (100, slab, 0.0, 36),
    ],
)
def test_charge_sloshing_is_damped_in_few_steps(length, shape, noise, most):
    """A metal of 100 bohr amplifies the longest wave 250 times: without care this diverges at once."""
    model = Line(length, shape, noise=noise)
    steps, mixer, density, _ = converge(model)
    assert steps <= most and mixer.tries == 1
    torch.testing.assert_close(density[0], model.target[0], atol=1e-6, rtol=0)


def test_plain_linear_mixing_diverges_where_kerker_and_pulay_converge():
    model = Line(50)
    _, _, _, linear = converge(model, kind="kerker", bmix=0.0, most=10)
    assert linear[-1] > 1e6 * linear[0]
    kerker, *_ = converge(model, kind="kerker", bmix=1.0, amin=0.0)
    pulay, *_ = converge(model)
    assert pulay < kerker < 50


def test_fitted_kerker_wave_vector_is_that_of_the_metal_and_saves_steps():
    model = Line(300)
    fitted, mixer, _, _ = converge(model, bmix=None, amin=0.0)
    fixed, *_ = converge(model, amin=0.0)
    assert number(mixer, "bmix") == pytest.approx(1.0, abs=1e-3)
    assert fitted < 0.6 * fixed


def test_fitted_kerker_wave_vector_is_short_in_an_insulator():
    model = Line(60, lambda r: torch.full_like(r, 1e-3))
    _, mixer, _, _ = converge(model, bmix=None)
    assert number(mixer, "bmix") == pytest.approx(1e-3**0.5, abs=1e-3)


@pytest.mark.parametrize("kind", ["pulay", "kerker"])
def test_electrons_that_smooth_density_and_occupancies_hold_together_are_conserved(kind):
    """Outputs move electrons between the smooth density at g = 0 and the occupancies; the sum stays."""
    model = Line(20, spins=2, stoner=0.5)
    density, occupancy = model.start()
    mixer = model.mixer(kind=kind)

    def electrons():
        return float(model.volume * density[0, 0].real + occupancy[0] @ torch.tensor([1.0, 0.5]).double())

    before = electrons()
    for step in range(8):
        out, _ = model.output(density)
        moved = 0.1 / (step + 1)
        out[0, 0] = density[0, 0] + moved / model.volume
        occupancy_out = occupancy - torch.tensor([[0.5 * moved, moved], [0.2, 0.1]], dtype=torch.float64)
        density, occupancy, _ = mixed(mixer, density, occupancy, out, occupancy_out)
        assert electrons() == pytest.approx(before, abs=1e-11)
    assert density[0, 0] != model.target[0, 0]


def test_frozen_density_leaves_no_trace_in_the_history():
    """Steps with the same density and ever better bands, as before self-consistency sets in."""
    model = Line(20)
    delayed, direct = model.mixer(), model.mixer()
    density, occupancy = model.start()
    out, occupancy_out = model.output(density)
    for error in (1e-2, 1e-3):
        mixed(delayed, density, occupancy, out + error * (out - density), occupancy_out)
    for _ in range(5):
        out, occupancy_out = model.output(density)
        expected = mixed(direct, density, occupancy, out, occupancy_out)
        density, occupancy, _ = mixed(delayed, density, occupancy, out, occupancy_out)
        torch.testing.assert_close(density, expected[0], atol=1e-14, rtol=0)


@pytest.mark.parametrize(("stoner", "most"), [(0.5, 16), (0.9, 18), (0.98, 20)])
def test_stoner_enhanced_moment_relaxes(stoner, most):
    """The moment of a nearly magnetic metal answers 1 / (1 - I chi) = 50 times enhanced."""
    steps, _, density, _ = converge(Line(50, stoner=stoner, spins=2))
    assert steps <= most
    assert density[1].abs().max() < 1e-6


def test_a_ferromagnet_whose_density_and_moment_answer_each_other_converges():
    """Coefficients for each of the two took more than twice the steps."""
    steps, *_ = converge(Line(50, stoner=0.5, asymmetry=0.6, spins=2))
    assert steps <= 26


def test_moment_grows_to_its_saturated_value_from_a_small_start():
    """I chi = 1.3 and a response that saturates: m = 0 is unstable, the answer is I m / 2 = 1.3 tanh(I m / 2 V) V."""
    model = Line(8, stoner=1.3, limit=0.3, spins=2)
    steps, _, density, _ = converge(model, start=(0.004, 0.0))
    moment = float(density[1, 0].real)
    half = model.exchange * moment / 2
    assert steps < 40 and moment > 0.005
    assert half == pytest.approx(1.3 * 0.3 * math.tanh(half / 0.3), rel=1e-5)


def test_factor_of_the_magnetisation_follows_its_measured_response():
    """(1 - I chi) = 0.1: the best factor is near 10, so the largest allowed; without enhancement it is that of AMIX."""
    enhanced = Line(50, stoner=0.9, spins=2)
    steps, mixer, *_ = converge(enhanced, fit_mag=True)
    assert number(mixer, "amix_mag") == pytest.approx(1.6)
    assert any("linear factor of the magnetisation" in event for event in mixer.events)
    assert steps <= converge(enhanced)[0] + 2
    _, mixer, *_ = converge(Line(50, stoner=0.0, spins=2), fit_mag=True)
    assert 0.4 <= number(mixer, "amix_mag") < 1.2


def test_factor_of_the_density_follows_its_measured_response():
    """In an insulator nothing but the Kerker factor is in the way of the whole residual."""
    insulator = Line(8, lambda r: torch.full_like(r, 1e-3))
    fitted, mixer, *_ = converge(insulator, fit_charge=True)
    assert number(mixer, "amix") == pytest.approx(1.0, abs=0.02)
    assert fitted < converge(insulator)[0]


def test_factor_of_the_density_is_never_below_amix():
    """A line that screens by 1 + (1.9/g)^2: the charge answers by more than it is moved."""
    model = Line(30, lambda r: torch.full_like(r, 3.6))
    _, mixer, *_ = converge(model, fit_charge=True, most=2)
    assert number(mixer, "amix") == 0.4
    fitted, mixer, density, _ = converge(model, fit_charge=True)
    assert 0.4 <= number(mixer, "amix") < 0.8 and fitted <= converge(model)[0]
    torch.testing.assert_close(density[0], model.target[0], atol=1e-6, rtol=0)


def test_factor_grows_to_the_largest_while_a_moment_is_being_found():
    """I chi = 1.3 at m = 0: the residual grows with the moment there."""
    model = Line(8, stoner=1.3, limit=0.3, spins=2)
    _, mixer, *_ = converge(model, start=(0.001, 0.0), most=3, fit_mag=True)
    assert number(mixer, "amix_mag") == 1.6


def test_a_given_factor_is_not_fitted():
    _, mixer, *_ = converge(Line(50, stoner=0.9, spins=2), amix_mag=0.7)
    assert number(mixer, "amix_mag") == 0.7


def test_noisy_output_of_a_magnetic_slab_converges():
    steps, *_ = converge(Line(40, slab, stoner=0.5, asymmetry=0.6, noise=0.05, spins=2))
    assert steps <= 45


def test_occupancies_arrive_together_with_the_density():
    model = Line(40, spins=2, stoner=0.5)
    mixer = model.mixer()
    density, occupancy = model.start()
    occupancy = occupancy + 0.3  # not consistent with the density
    for _ in range(30):
        out, occupancy_out = model.output(density)
        density, occupancy, _ = mixed(mixer, density, occupancy, out, occupancy_out)
    torch.testing.assert_close(occupancy, model.occupancy(model.target), atol=1e-6, rtol=0)


def test_stagnation_is_noticed_told_and_answered_with_smaller_steps():
    """An output that always lies one away from the input can never be reached."""
    model = Line(10)
    mixer = model.mixer()
    density, occupancy = model.start()
    gap = torch.zeros_like(density)
    gap[0, 3] = 0.01
    generator = torch.Generator().manual_seed(2)
    for _ in range(40):
        phase = torch.exp(2j * math.pi * torch.rand(1, generator=generator, dtype=torch.float64))
        density, occupancy, _ = mixed(mixer, density, occupancy, density + gap * phase, occupancy)
    assert mixer.events and "back to the best density" in mixer.events[0]
    assert number(mixer, "guard")["scale"] < 1


def exploding(steps, doubt=""):
    """Five steps of a metal, then outputs that are useless: (mixer, densities)."""
    model = Line(10)
    mixer = model.mixer()
    density, occupancy = model.start()
    densities = []
    for step in range(steps):
        densities.append(density)
        out, occupancy_out = model.output(density)
        if step >= 5 and not doubt:
            out = density + 1e6 * torch.ones_like(density)
        parts = fields(density, occupancy), fields(out, occupancy_out)
        following, _ = mixer.mix(*parts, None, doubt if step >= 5 else "")
        density, occupancy = following.density_sg, following.occupancy_sx
    return mixer, [*densities, density]


@pytest.mark.parametrize("doubt", ["", "a ghost"])
def test_a_step_into_nothing_is_refused_and_a_shorter_one_tried(doubt):
    """Whether the residual explodes or the loop does not believe what it sees."""
    mixer, densities = exploding(6, doubt)
    torch.testing.assert_close(densities[6], torch.lerp(densities[4], densities[5], 0.3), atol=1e-15, rtol=0)
    assert len(mixer.events) == 1 and "refused" in mixer.events[0] and number(mixer, "guard")["scale"] == 1
    assert mixer.events[0].startswith(doubt)


@pytest.mark.parametrize("doubt", ["", "a ghost"])
def test_blow_up_that_stays_returns_to_the_best_density(doubt):
    """Three times a shorter step, then the best density with smaller steps."""
    mixer, densities = exploding(9, doubt)
    assert sum("refused" in event for event in mixer.events) == 3
    assert "back to the best density" in mixer.events[-1] and mixer.tries == 2
    assert number(mixer, "guard")["scale"] == 0.5
    assert (densities[9] - densities[4]).abs().max() < 1e-3


def test_residual_is_in_electrons():
    """A residual of a cos(gz) has Omega sqrt(<R^2>) = Omega a / sqrt(2), and int |R| below it."""
    model = Line(10)
    density, occupancy = model.start()
    out = density.clone()
    out[0, 2] += 0.001 / 2
    _, _, residual = mixed(model.mixer(), density, occupancy, out, occupancy)
    assert residual == pytest.approx(model.volume * 0.001 / math.sqrt(2), rel=1e-9)
    assert residual > model.volume * 0.001 * 2 / math.pi


def test_kerker_factors_are_those_of_the_formula():
    model = Line(30, spins=2)
    density, occupancy = model.start()
    settings = {"kind": "kerker", "amix": 0.4, "bmix": 0.6, "amin": 0.1, "amix_mag": 1.6, "bmix_mag": 0.9}
    shift, more = torch.full_like(density, 0.01), torch.full_like(occupancy, 0.02)
    new, new_occupancy, _ = mixed(model.mixer(**settings), density, occupancy, density + shift, occupancy + more)
    factor = ((new - density) / shift).real
    kerker = [a * model.norm2 / (model.norm2 + b**2) for a, b in ((0.4, 0.6), (1.6, 0.9))]
    expected = torch.stack([k.clamp_min(0.1) for k in kerker])
    expected[:, 0] = torch.tensor([0.4, 1.6], dtype=torch.float64)
    torch.testing.assert_close(factor, expected, atol=1e-10, rtol=0)
    torch.testing.assert_close((new_occupancy - occupancy) / more, torch.tensor([[0.4] * 2, [1.6] * 2]).double())


def test_half_sphere_with_weights_equals_full_sphere():
    """The same real density given by all plane waves and by half of them: the same answers."""
    half = Line(30)
    full_norm2 = torch.cat([half.norm2, half.norm2[1:].flip(0)])
    both = lambda d: torch.cat([d, d[:, 1:].flip(1).conj()], 1)  # noqa: E731
    mixers = half.mixer(), PulayMixer(MixSettings(), full_norm2, torch.ones_like(full_norm2), half.volume)
    density, occupancy = half.start()
    for _ in range(5):
        out, occupancy_out = half.output(density)
        new, new_occupancy, residual = mixed(mixers[0], density, occupancy, out, occupancy_out)
        same, same_occupancy, same_residual = mixed(mixers[1], both(density), occupancy, both(out), occupancy_out)
        torch.testing.assert_close(both(new), same, atol=1e-11, rtol=0)
        torch.testing.assert_close(new_occupancy, same_occupancy, atol=1e-10, rtol=0)
        assert residual == pytest.approx(same_residual)
        density, occupancy = new, new_occupancy


def test_saved_mixer_continues_with_the_same_bits():
    model = Line(40, spins=2, stoner=0.5)
    mixer = model.mixer(history=4, bmix=None, fit_mag=True, fit_charge=True)
    density, occupancy = model.start()
    for step in range(12):
        if step == 7:
            twin = model.mixer(history=4, bmix=None, fit_mag=True, fit_charge=True)
            twin.restore(mixer.memory()(), fields(density, occupancy).parts)
        out, occupancy_out = model.output(density)
        new = mixed(mixer, density, occupancy, out, occupancy_out)
        if step >= 7:
            again = mixed(twin, density, occupancy, out, occupancy_out)
            assert torch.equal(new[0], again[0]) and torch.equal(new[1], again[1]) and new[2] == again[2]
        density, occupancy, _ = new
    assert twin.memory()()["count"] == 12


def test_two_ranks_that_share_plane_waves_equal_one():
    model = Line(40, spins=2, stoner=0.5)

    def work(rank, add):
        part = slice(rank, None, 2)
        smallest = float(model.norm2[1])
        mixer = PulayMixer(
            MixSettings(bmix=None), model.norm2[part], model.weight[part], model.volume, add, smallest_norm2=smallest
        )
        for density, occupancy, out, occupancy_out in history:
            result = mixed(mixer, density[:, part], occupancy, out[:, part], occupancy_out)
        return result

    history, mixer = [], model.mixer(bmix=None)
    density, occupancy = model.start()
    for _ in range(6):
        history.append((density, occupancy, *model.output(density)))
        density, occupancy, residual = mixed(mixer, *history[-1])
    for rank, result in enumerate(on_thread_ranks(work)):
        torch.testing.assert_close(result[0], density[:, rank::2], atol=1e-10, rtol=0)
        torch.testing.assert_close(result[1], occupancy, atol=1e-10, rtol=0)
        assert result[2] == pytest.approx(residual, rel=1e-9)


@pytest.mark.parametrize(
    "bad", [{"kind": "broyden"}, {"amix": 0.0}, {"amix_mag": math.nan}, {"bmix": -1.0}, {"history": -1}, {"amin": -0.1}]
)
def test_impossible_settings_are_refused_by_name(bad):
    with pytest.raises(InputError, match="|".join(bad)):
        MixSettings(**bad)


def test_density_that_is_not_finite_is_refused():
    model = Line(10)
    density, occupancy = model.start()
    with pytest.raises(InputError, match="not finite"):
        mixed(model.mixer(), density, occupancy, density * math.nan, occupancy)


# -- a residual that is small where there is no solution --------------------------------------------------------------


def moment_residual(moment):
    """Output minus input of a magnet with the stable moment 2, the unstable 0, and a shallow |R| = 0.1 near 3."""
    valley = (moment - 3) ** 2
    return -math.tanh(moment) * (moment - 2) * (valley + 0.1) / (valley + 1)


class Magnet:
    """One moment (the g = 0 wave of the magnetisation); the total density already fits."""

    def __init__(self, near=0.0):
        norm2_g, weight_g = torch.tensor([[0.0, 1.0], [1.0, 2.0]]).double()
        self.mixer = PulayMixer(MixSettings(near=near), norm2_g, weight_g, 10)

    def next(self, moment, residual):
        density = torch.tensor([[0.8, 0], [moment / 10, 0]], dtype=torch.complex128)
        change = torch.tensor([[0, 0], [residual / 10, 0]], dtype=torch.complex128)
        empty = torch.zeros(2, 1, dtype=torch.float64)
        return 10 * float(mixed(self.mixer, density, empty, density + change, empty)[0][1, 0].real)

    def path(self, moment, most=40):
        moments = [moment]
        while len(moments) <= most and abs(moment_residual(moments[-1])) > 1e-8:
            moments.append(self.next(moments[-1], moment_residual(moments[-1])))
        return moments


STARTS = (3.2, 3.3, 3.4, 3.5)


@pytest.mark.parametrize("start", STARTS)
def test_mixer_passes_a_minimum_of_the_residual_that_is_no_solution(start):
    """As bcc iron from moment 3: there |R| is small, not zero, and the fit to the history points back to it."""
    moments = Magnet().path(start)
    assert moments[-1] == pytest.approx(2.0, abs=1e-6)


def test_plain_pulay_mixing_stays_at_the_minimum(monkeypatch):
    """What the test above would be worth without the safeguard: nothing."""
    monkeypatch.setattr("eigenwerk.dft.scf.mixing.mixing_guard.UPHILL_SHARE", 2.0)
    ends = [Magnet().path(start)[-1] for start in STARTS]
    assert sum(abs(end - 2) > 0.1 for end in ends) >= 3


def test_a_step_against_the_residual_becomes_a_linear_one_and_drops_the_history():
    """At 2.9 and below |R| grows on the way to 2: the fit wants to go up, R says down."""
    magnet = Magnet()
    first = magnet.next(2.9, moment_residual(2.9))
    assert first == pytest.approx(2.9 + 1.6 * moment_residual(2.9))
    residual = moment_residual(first)
    assert residual < moment_residual(2.9) < 0
    assert magnet.next(first, residual) == pytest.approx(first + 1.6 * residual)
    assert magnet.mixer.memory()()["history"]["places"] == []
    assert "led away from the minimum" in magnet.mixer.events[-1]


def test_near_the_end_no_step_is_taken_for_one_away_from_it():
    """What is soft there costs no energy that is asked for: the history is worth more."""
    residual = moment_residual(2.9)
    for near, kept in ((5.0 * abs(residual), True), (0.2 * abs(residual), False)):
        magnet = Magnet(near)
        first = magnet.next(2.9, residual)
        magnet.next(first, moment_residual(first))
        assert bool(magnet.mixer.memory()()["history"]["places"]) is kept


def test_without_the_safeguard_the_same_step_goes_up(monkeypatch):
    monkeypatch.setattr("eigenwerk.dft.scf.mixing.mixing_guard.UPHILL_SHARE", 2.0)
    magnet = Magnet()
    first = magnet.next(2.9, moment_residual(2.9))
    assert magnet.next(first, moment_residual(first)) > 2.9
