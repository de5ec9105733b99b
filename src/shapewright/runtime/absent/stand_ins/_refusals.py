"""What kernels of several packages refuse, in the words of the packages.

Where all tensors are on the CPU, as in `check`, the device and the dtype say nothing of
the run that is meant: they are not refused then.
"""

from __future__ import annotations

import torch
from torch import Tensor

HALVES = (torch.float16, torch.bfloat16)


def require_half(name: str, *tensors: Tensor) -> None:
    """Refuse tensors that are not float16 or bfloat16, or not of one dtype."""
    if _are_on_cpu(tensors):
        return
    if any(tensor.dtype not in HALVES for tensor in tensors):
        raise RuntimeError(f"{name} only support fp16 and bf16 data type")
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise RuntimeError("query and key must have the same dtype")


def require_device(*tensors: Tensor) -> None:
    """Refuse tensors of which some are on the CPU."""
    on_cpu = [tensor.device.type == "cpu" for tensor in tensors]
    if any(on_cpu) and not all(on_cpu):
        raise RuntimeError("Input tensor must be on CUDA device")


def _are_on_cpu(tensors: tuple[Tensor, ...]) -> bool:
    return all(tensor.device.type == "cpu" for tensor in tensors)


def require_head_dim(width: int, most: int = 256) -> None:
    """Refuse heads that are wider than the kernels.

    A width that is no multiple of 8 is padded: `flash_attn_interface.py` of
    https://github.com/Dao-AILab/flash-attention, `FlashAttnFunc.forward`.
    """
    if width > most:
        raise RuntimeError(
            f"FlashAttention forward only supports head dimension at most {most}"
        )
