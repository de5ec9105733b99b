"""pytorch_fid: the features of an Inception network, and distances between them."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

SOURCE = "signatures of https://github.com/mseitzer/pytorch-fid, 0.3"
VERSION = "0.3.0"
WIDTHS = (64, 192, 768, 2048)
SIDES = (73, 35, 17, 1)
"""Channels and side of what each block gives for an image of 299 x 299."""


class InceptionV3(nn.Module):
    """images (B, 3, H, W) of 0 to 1: a list, for each block (B, C, side, side)."""

    DEFAULT_BLOCK_INDEX = 3
    BLOCK_INDEX_BY_DIM = {width: index for index, width in enumerate(WIDTHS)}

    def __init__(
        self, output_blocks: Any = (DEFAULT_BLOCK_INDEX,), resize_input: bool = True,
        normalize_input: bool = True, requires_grad: bool = False,
        use_fid_inception: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.output_blocks = sorted(output_blocks)

    def forward(self, inp: Tensor) -> list[Tensor]:
        if inp.dim() != 4 or inp.shape[1] != 3:
            raise RuntimeError(
                f"expected input of shape (B, 3, H, W), got {tuple(inp.shape)}"
            )
        return [
            inp.new_zeros(len(inp), WIDTHS[block], SIDES[block], SIDES[block])
            for block in self.output_blocks
        ]


def calculate_frechet_distance(
    mu1: Any, sigma1: Any, mu2: Any, sigma2: Any, eps: float = 1e-6
) -> float:
    """mu (F,), sigma (F, F), of numpy: a distance, which is taken as 1."""
    if mu1.shape != mu2.shape or sigma1.shape != sigma2.shape:
        raise AssertionError("Training and test mean vectors have different lengths")
    return 1.0


MODULES: dict[str, dict[str, Any]] = {
    "": {}, "inception": {"InceptionV3": InceptionV3},
    "fid_score": {"calculate_frechet_distance": calculate_frechet_distance},
}  # fmt: skip
