"""Saving the last finished step while the computation hangs or takes too long.

All ranks call it at the same time from a thread beside the computation.  It must not touch what the computation may be
using: it has communicators of its own (`Runtime.spare`, on the host), a stream of its own on a GPU, and no trace.
States are never changed in place, so the last one is whole.
"""

import time
from contextlib import nullcontext

import torch

from eigenwerk.dft.run.saving import Saver
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import EigenwerkError
from eigenwerk.parallel.process_grid import ProcessGrid

ATTEMPTS, PAUSE = 20, 0.25
"""How often, and after how many seconds, to look again while ranks have not all entered the same step."""


class Rescue:
    """Writes the state that `state` was last set to; a call is collective."""

    def __init__(self, saver: Saver, grid: ProcessGrid):
        self.saver, self.grid = saver, grid
        self.state: State | None = None

    def __call__(self) -> None:
        """Save, unless no step is finished.  Raises EigenwerkError if ranks hold different steps."""
        device = self.saver.calculation.runtime.device
        # work that is stuck in another stream does not hold up copies in this one
        with torch.cuda.stream(torch.cuda.Stream(device)) if device.type == "cuda" else nullcontext():
            state = self._common_state()
            if state is not None:
                self.saver.rescue(state, self.grid)

    def _common_state(self) -> State | None:
        """The state of the last step that all ranks have finished."""
        for _ in range(ATTEMPTS):
            state = self.state
            step = torch.tensor([0 if state is None else state.history[-1].step])
            steps_p = self.grid.world.all_gather(step)
            if bool((steps_p == steps_p[0]).all()):
                return state
            # at the end of a step ranks hear of it a moment apart
            time.sleep(PAUSE)
        raise EigenwerkError(f"the ranks hold different steps: {steps_p.tolist()}")
