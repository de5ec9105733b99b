"""tinycudann: encodings of coordinates and small networks; half precision on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

SOURCE = (
    "signatures of https://github.com/NVlabs/tiny-cuda-nn/blob/master/"
    "DOCUMENTATION.md, 1.7"
)
VERSION = "1.7"
NETWORKS = ("fullyfusedmlp", "cutlassmlp", "megakernelmlp")
FUSED_WIDTHS = (16, 32, 64, 128)
"""Widths of hidden layers for which ``FullyFusedMLP`` is made."""


def _name_type(config: dict[str, Any], default: str) -> str:
    return str(config.get("otype", default)).lower()


def count_features(n_input_dims: int, config: dict[str, Any]) -> int:
    """Return how many dims an encoding of some dims has."""
    kind = _name_type(config, "OneBlob")
    if kind == "composite":
        total, left = 0, n_input_dims
        for nested in config["nested"]:
            dims = int(nested.get("n_dims_to_encode", left))
            total, left = total + count_features(dims, nested), left - dims
        if left < 0:
            raise RuntimeError(
                "CompositeEncoding: nested encodings encode too many dims"
            )
        return total
    if "grid" in kind:
        per_level = int(config.get("n_features_per_level", 2))
        if per_level not in (1, 2, 4, 8):
            raise RuntimeError(
                "GridEncoding: n_features_per_level must be 1, 2, 4, or 8."
            )
        return int(config.get("n_levels", 16)) * per_level
    if kind == "sphericalharmonics":
        if n_input_dims != 3:
            raise RuntimeError("Can only encode 3D directions in spherical harmonics.")
        return int(config.get("degree", 4)) ** 2
    factors = {
        "frequency": 2 * int(config.get("n_frequencies", 12)),
        "trianglewave": int(config.get("n_frequencies", 12)),
        "oneblob": int(config.get("n_bins", 16)), "identity": 1,
    }  # fmt: skip
    if kind not in factors:
        raise RuntimeError(f"Encoding type {config.get('otype')!r} is not supported")
    return n_input_dims * factors[kind]


def count_table(n_input_dims: int, config: dict[str, Any]) -> int:
    """Return how many parameters an encoding has: the tables of its grids."""
    kind = _name_type(config, "OneBlob")
    if kind == "composite":
        return sum(
            count_table(int(nested.get("n_dims_to_encode", n_input_dims)), nested)
            for nested in config["nested"]
        )
    if "grid" not in kind:
        return 0
    total, levels = 0, int(config.get("n_levels", 16))
    backing = str(config.get("type", kind.removesuffix("grid") or "hash")).lower()
    base = int(config.get("base_resolution", 16))
    growth = float(config.get("per_level_scale", 2.0))
    for level in range(levels):
        scale = growth**level * base - 1
        side = -int(-scale // 1) + 1
        cells = -(-min(side**n_input_dims, 2**31) // 8) * 8
        if backing == "hash":
            cells = min(cells, 2 ** int(config.get("log2_hashmap_size", 19)))
        elif backing == "tiled":
            cells = min(cells, base**n_input_dims)
        total += cells
    return total * int(config.get("n_features_per_level", 2))


def _round_up(size: int) -> int:
    return -(-size // 16) * 16


def count_weights(n_inputs: int, n_outputs: int, config: dict[str, Any]) -> int:
    """Return how many weights a network has: widths are multiples of 16, no biases."""
    kind = _name_type(config, "MLP")
    if kind not in (*NETWORKS, "mlp"):
        raise RuntimeError(f"Invalid network type: {config.get('otype')}")
    width = int(config.get("n_neurons", 128))
    if kind == "fullyfusedmlp" and width not in FUSED_WIDTHS:
        raise RuntimeError(
            f"FullyFusedMLP only supports 16, 32, 64, and 128 neurons, but got {width}."
            " Use CutlassMLP instead if this is a requirement."
        )
    layers = int(config.get("n_hidden_layers", 5))
    first, last = _round_up(n_inputs), _round_up(n_outputs)
    if layers == 0:
        return first * last
    return first * width + (layers - 1) * width * width + width * last


class _Module(nn.Module):
    """x (B, n_input_dims): (B, n_output_dims). The parameters are one vector."""

    def __init__(
        self, n_input_dims: int, n_output_dims: int, parameters: int,
        dtype: torch.dtype, seed: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_input_dims, self.n_output_dims = n_input_dims, n_output_dims
        self.dtype, self.seed = dtype, seed
        self.params = nn.Parameter(torch.zeros(parameters))

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 2 or x.shape[1] != self.n_input_dims:
            raise RuntimeError(
                f"input must have shape (batch, {self.n_input_dims}), got "
                f"{tuple(x.shape)}"
            )
        whole = x.float().sum(1, keepdim=True) + self.params.sum()
        return whole.expand(-1, self.n_output_dims).to(self.dtype).contiguous()


class Encoding(_Module):
    """x (B, n_input_dims): (B, n_output_dims), which the configuration says."""

    def __init__(
        self, n_input_dims: int, encoding_config: dict[str, Any], seed: int = 1337,
        dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        if dtype not in (None, torch.float32, torch.float16):
            raise ValueError(
                f"Encoding only supports fp32 or fp16 precision, but got {dtype}"
            )
        super().__init__(
            n_input_dims, count_features(n_input_dims, encoding_config),
            count_table(n_input_dims, encoding_config), dtype or torch.half, seed,
        )  # fmt: skip
        self.encoding_config = encoding_config


class Network(_Module):
    """x (B, n_input_dims): (B, n_output_dims)."""

    def __init__(
        self, n_input_dims: int, n_output_dims: int, network_config: dict[str, Any],
        seed: int = 1337,
    ) -> None:  # fmt: skip
        weights = count_weights(n_input_dims, n_output_dims, network_config)
        super().__init__(n_input_dims, n_output_dims, weights, torch.half, seed)
        self.network_config = network_config


class NetworkWithInputEncoding(_Module):
    """x (B, n_input_dims): (B, n_output_dims)."""

    def __init__(
        self, n_input_dims: int, n_output_dims: int, encoding_config: dict[str, Any],
        network_config: dict[str, Any], seed: int = 1337,
    ) -> None:  # fmt: skip
        features = count_features(n_input_dims, encoding_config)
        weights = count_weights(features, n_output_dims, network_config)
        weights += count_table(n_input_dims, encoding_config)
        super().__init__(n_input_dims, n_output_dims, weights, torch.half, seed)
        self.encoding_config, self.network_config = encoding_config, network_config


def free_temporary_memory() -> None:
    """Do nothing."""


MODULES: dict[str, dict[str, Any]] = {
    "": {
        "Encoding": Encoding, "Network": Network,
        "NetworkWithInputEncoding": NetworkWithInputEncoding,
        "free_temporary_memory": free_temporary_memory,
    },
}  # fmt: skip
