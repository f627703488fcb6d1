"""Which entries of a group differ in all that was taken out, as a compiled loop on a processor."""

from functools import cache

import numpy as np
import torch

from eigenwerk.parallel.kernels.cpu import PRELUDE, Kernel, kernel

SOURCE = """
// number[g]: how many pairs (one, other) of entries of group g have no state in common, of different determinants
// (LOWER: other lower than one); written from first[g] on where there is room for them
void pairs(const long* start, const long* size, long groups, const int* det, const short* states, const long* first,
           long* number, int* one, int* other)
{
    for (long g = 0; g < groups; ++g) {
        const long begin = start[g], end = begin + size[g];
        long found = 0;
        for (long a = begin; a < end; ++a)
            for (long b = begin; b < end; ++b) {
                int apart = LOWER ? det[a] > det[b] : det[a] != det[b];
#if WIDTH == 2
                const short *p = states + 2 * a, *q = states + 2 * b;
                apart &= (p[0] != q[0]) & (p[0] != q[1]) & (p[1] != q[0]) & (p[1] != q[1]);
#endif
                if (first && apart) { one[first[g] + found] = a; other[first[g] + found] = b; }
                found += apart;
            }
        number[g] = found;
    }
}
"""


@cache
def _loop(width: int, lower: bool) -> Kernel | None:
    return kernel(f"{PRELUDE}\n#define WIDTH {width}\n#define LOWER {int(lower)}\n{SOURCE}", "pairs")


def pairs_natively(
    start: torch.Tensor, size: torch.Tensor, det: torch.Tensor, states: torch.Tensor, lower: bool
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Both ends, as in `jumps`; None without a compiler or not on a processor."""
    loop = _loop(states.shape[1], lower) if det.device.type == "cpu" else None
    if loop is None:
        return None
    start, size, det, states = start.contiguous(), size.contiguous(), det.contiguous(), states.contiguous()
    number = np.zeros(len(start), dtype=np.int64)
    given = start.data_ptr(), size.data_ptr(), len(start), det.data_ptr(), states.data_ptr()
    loop(*given, 0, number.ctypes.data, 0, 0)
    first = np.cumsum(number) - number
    one, other = (torch.empty(int(number.sum()), dtype=torch.int32) for _ in range(2))
    loop(*given, first.ctypes.data, number.ctypes.data, one.data_ptr(), other.data_ptr())
    return one, other
