"""From the density that a step began with and that of its orbitals to the one of the next step."""

import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.filling.occupations import Occupations
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.bands import Bands
from eigenwerk.dft.scf.cycle_settings import ScfSettings
from eigenwerk.dft.scf.mixing.mixing import PulayMixer
from eigenwerk.dft.scf.mixing.screening import Screening, local_states
from eigenwerk.dft.scf.state import Solved

OTHER_TRY = 3
"""The try that takes the other preconditioner."""


class NextDensity:
    """mixer: with its memory; tries: the same on all ranks."""

    def __init__(self, atoms: PawAtoms, symmetrise: Symmetriser, settings: ScfSettings):
        self.atoms, self.symmetrise, self.settings = atoms, symmetrise, settings
        self._compensated: tuple[torch.Tensor, torch.Tensor] | None = None
        self.forget()
        self.tries = self.mixer.tries

    def forget(self) -> None:
        """A new mixer: what follows begins elsewhere."""
        basis, own = self.atoms.basis, slice(self.atoms.basis.density_count)
        self.mixer = PulayMixer(self.settings.mixing, basis.norm2_g[own], basis.weight_g[own], float(basis.volume))

    def __call__(
        self, density: Density, output: Density, solved: Solved, keeps: bool, doubt: str
    ) -> tuple[Density, float, tuple[str, ...]]:
        """The next input density, the residual in electrons, both the same on all ranks, and what the mixer tells.

        What screens is the whole valence charge ñ + n̂(D): the Kerker factor must see it, or charge would slosh in the
        compensation charges of long cells.  keeps: the density stays.
        """
        known, runtime, spin = len(self.mixer.events), self.atoms.runtime, density.spin
        with runtime.trace.span("mixing"):
            screening = self.screening(solved.bands, solved.filled)
            before, after = (self._charge(part, 1).map(spin.separated) for part in (density, output))
            mixed, residual = self.mixer.mix(before, after, screening, doubt)
            following = density if keeps else self._charge(mixed.map(spin.joined), -1)
            # rank 0's for all: rounding errors of other ranks must not lead them to other decisions
            following, residual = following.broadcast(runtime.world, residual)
        self.tries = int(runtime.world.max(runtime.index(self.mixer.tries)))
        return following, residual, tuple(self.mixer.events[known:])

    def screening(self, bands: Bands, filled: Occupations) -> Screening | None:
        """From the local density of states, where it is wanted; the third try takes the other preconditioner."""
        wished = self.settings.screening
        if wished is None or wished is (self.tries == OTHER_TRY):
            return None
        states = self.symmetrise(local_states(self.atoms, bands, filled, self.settings.width))
        return Screening.of(self.atoms.basis, states.spin.total(self._charge(states, 1).density_sg))

    def _charge(self, density: Density, sign: int) -> Density:
        """The density with its compensation charges, or (sign -1) without them again."""
        extra_sg = self._compensation(density.occupancy_sx)
        return density.with_smooth(torch.add(density.density_sg, extra_sg, alpha=sign))

    def _compensation(self, occupancy_sx: torch.Tensor) -> torch.Tensor:
        """n̂(D) of the valence electrons; that of the last D asked for, the next input's, is kept for the next step."""
        if self._compensated is None or self._compensated[0] is not occupancy_sx:
            self._compensated = occupancy_sx, self.atoms.valence_compensation(occupancy_sx)
        return self._compensated[1]
