import pytest
import torch

from eigenwerk.ncci.device_arrays import SIZES, by_blocks


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 11, 17])
def test_blocks_of_any_number_of_rows_give_every_product(count):
    x_nb = torch.randn(count, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(count))
    matrix_bb = torch.arange(36.0, dtype=torch.float64).view(6, 6)
    seen = []

    def product(x_bn):
        seen.append(x_bn.shape[1])
        assert x_bn.is_contiguous()
        return matrix_bb @ x_bn

    assert torch.allclose(by_blocks(x_nb, product), x_nb @ matrix_bb.T, rtol=0, atol=1e-12)
    assert set(seen) <= set(SIZES) and sum(seen) < count + SIZES[-1]
