"""Records of nuclei on ranks that never ran, with round numbers."""

import pytest

from eigenwerk.io.trace_file import TRACE_FILE, write_trace_file

CASE = {
    "title": "6Li", "states": 1200, "nonzeros": 50000, "backend": "csb", "precision": "single", "block": 1,
    "products": 10, "scheme": "nccl:3", "layout": "triangle", "block_rows": 2, "nonzeros_max_over_mean": 1.1,
}  # fmt: skip


def traffic(entry, seconds, bytes, device):
    """The inner phase of a step."""
    return entry("communication", seconds, calls=10, device=device, bytes=bytes)


@pytest.fixture
def nucleus(entries, tmp_path):
    """Writes a run of three ranks, a triangle of two block rows; returns its folder.

    Rank 0 and 1 share column 0 of 600 states; rank 2 is alone.  Row 0: ranks 0 and 2; row 1: ranks 2 and 1... of which
    only one is written down here: row = ranks 1 and 2.
    """

    def write(name="run", scale=1.0, device=True, **about):
        ranks = []
        for rank in range(3):
            clock = (lambda value: value * scale) if device else (lambda value: None)
            phase = entries.phase
            held = {"all-gather": 0.2, "broadcast": 0.1, "reduce": 0.3, "reduce-scatter": 0.4}
            way = {"all-gather": 0.2, "broadcast": 1.0, "reduce": 1.0, "reduce-scatter": 0.4}
            sent = {"all-gather": 12000, "broadcast": 24000, "reduce": 24000, "reduce-scatter": 24000}
            steps = []
            for step in held:
                alone = (rank == 2) if step in ("all-gather", "reduce-scatter") else (rank == 0)
                inner = [] if alone else [traffic(phase, way[step] * scale, sent[step], clock(way[step]))]
                seconds = 0.0 if alone else held[step] * scale
                steps.append(phase(step, seconds, inner, calls=10, device=clock(seconds / scale)))
            kernel = 2.0 * scale + rank
            local = phase("local products", kernel, calls=20, device=kernel if device else None)
            product = phase("products", 5.0 * scale, [*steps, local], calls=10, device=clock(5.0))
            states = phase("states", 8.0 * scale, [phase("lanczos", 7.0, [product])], device=clock(8.0))
            groups = {"column": [0, 1]} if rank < 2 else {}
            groups |= {"row": [1, 2]} if rank else {}
            place = {"device": f"NVIDIA H200 GPU-{rank}"} if device else {}
            ranks.append(entries.rank(rank, 20.0, phases=[states], groups=groups, **place))
        folder = tmp_path / name
        folder.mkdir()
        write_trace_file(folder / TRACE_FILE, ranks, {"system": "6Li", "cases": [CASE | about], "transport": "nccl"})
        return folder

    return write
