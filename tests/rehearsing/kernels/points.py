"""Graphs, points in space and in grids."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins import (
    MinkowskiEngine,
    pytorch3d,
    spconv,
    tinycudann,
    torch_cluster,
    torch_scatter,
    torch_sparse,
)
from tests.rehearsing.kernels import Row

SRC, INDEX = torch.randn(6, 3), torch.tensor([0, 0, 2, 2, 2, 0])
EDGES, VALUES = torch.tensor([[0, 0, 1, 2, 0], [1, 2, 0, 2, 1]]), torch.arange(1.0, 6.0)
DENSE = torch.tensor([[0.0, 6, 2], [3, 0, 0], [0, 0, 4]])
SQUARE = torch.tensor([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
QUERIES = torch.tensor([[-1.0, 0], [1, 0]])
CLOUD, OTHER = torch.randn(2, 7, 3), torch.randn(2, 5, 3)
POINTS = torch.tensor(
    [[0, 0, 0, 0], [0, 1, 1, 1], [0, 4, 4, 4], [1, 0, 0, 7]], dtype=torch.int32
)
GRID = {"otype": "HashGrid", "n_levels": 4, "n_features_per_level": 2,
        "log2_hashmap_size": 8, "base_resolution": 4}  # fmt: skip
FUSED = {"otype": "FullyFusedMLP", "n_neurons": 64, "n_hidden_layers": 2}


def grouped(function: Any, empty: float = 0.0) -> Tensor:
    """A function of the rows of each index; a value where there are none."""
    out = torch.full((3, 3), empty)
    for place in (0, 2):
        out[place] = function(SRC[place == INDEX])
    return out


def matrix() -> Any:
    return torch_sparse.SparseTensor.from_edge_index(EDGES, VALUES, (3, 3)).coalesce()


def nearest_places() -> Tensor:
    far = (CLOUD[:, :, None] - OTHER[:, None]).square().sum(-1)
    return far.sort(-1).indices[..., :2]


def voxels(shape: Any = (8, 8, 8), dtype: Any = torch.int32) -> Any:
    return spconv.SparseConvTensor(torch.ones(4, 3), POINTS.to(dtype), shape, 2)


def sparse(channels: int = 3) -> Any:
    return MinkowskiEngine.SparseTensor(torch.ones(4, channels), POINTS)


def inverse() -> Tensor:
    net = spconv.SparseSequential(
        spconv.SparseConv3d(3, 5, 3, 2, 1, indice_key="down"), nn.ReLU(),
        spconv.SparseInverseConv3d(5, 6, 3, "down"),
    )  # fmt: skip
    return net(voxels()).features


def up_again() -> Tensor:
    down = MinkowskiEngine.MinkowskiConvolution(3, 5, 2, 2, dimension=3)
    up = MinkowskiEngine.MinkowskiConvolutionTranspose(5, 6, 2, 2, dimension=3)
    assert down(sparse()).F.shape == (3, 5)
    return up(down(sparse())).F


def strided() -> Tensor:
    out = spconv.SparseConv3d(3, 5, 3, stride=2, padding=1)(voxels())
    assert out.spatial_shape == [4, 4, 4]
    return out.features


def flat(kind: Any, **options: Any) -> Any:
    plane = spconv.SparseConvTensor(torch.ones(4, 3), POINTS[:, :3], [8, 8], 2)
    return kind(3, 5, 3, **options)(plane).features


def scattered(name: str, value: Any, empty: float = 0.0, first: bool = False) -> Row:
    function = getattr(torch_scatter, name)

    def call() -> Tensor:
        out = function(SRC, INDEX, 0)
        return out[0] if first else out

    words = "expand" if name != "scatter_mul" else ""
    return Row(call, (3, 3), lambda: grouped(value, empty), (
        lambda: function(SRC, INDEX[:5], 0), RuntimeError, words,
    ))  # fmt: skip


ROWS = {
    "torch_scatter.scatter_sum": scattered("scatter_sum", lambda x: x.sum(0)),
    "torch_scatter.scatter_add": scattered("scatter_add", lambda x: x.sum(0)),
    "torch_scatter.scatter_mul": scattered("scatter_mul", lambda x: x.prod(0), 1.0),
    "torch_scatter.scatter_mean": scattered("scatter_mean", lambda x: x.mean(0)),
    "torch_scatter.scatter_max": scattered(
        "scatter_max", lambda x: x.amax(0), first=True
    ),
    "torch_scatter.scatter_min": scattered(
        "scatter_min", lambda x: x.amin(0), first=True
    ),
    "torch_scatter.scatter": Row(
        lambda: torch_scatter.scatter(SRC, INDEX, 0, dim_size=4, reduce="mean")[:3],
        (3, 3), lambda: grouped(lambda x: x.mean(0)),
        (lambda: torch_scatter.scatter(SRC, INDEX, 0, reduce="median"), ValueError, ""),
    ),
    "torch_scatter.scatter_softmax": Row(
        lambda: torch_scatter.scatter_softmax(SRC, INDEX, 0)[INDEX == 2], (3, 3),
        lambda: SRC[INDEX == 2].softmax(0),
        (lambda: torch_scatter.scatter_softmax(INDEX, INDEX), ValueError, "floating"),
    ),
    "torch_scatter.scatter_log_softmax": Row(
        lambda: torch_scatter.scatter_log_softmax(SRC, INDEX, 0)[INDEX == 2], (3, 3),
        lambda: SRC[INDEX == 2].log_softmax(0),
        (lambda: torch_scatter.scatter_log_softmax(INDEX, INDEX), ValueError,
         "floating"),
    ),
    "torch_scatter.scatter_logsumexp": scattered(
        "scatter_logsumexp", lambda x: x.logsumexp(0)
    ),
    "torch_scatter.scatter_std": scattered("scatter_std", lambda x: x.std(0)),
    "torch_scatter.segment_coo": Row(
        lambda: torch_scatter.segment_coo(SRC, INDEX.sort().values, reduce="max"),
        (3, 3),
        lambda: torch.stack((SRC[:3].amax(0), SRC.new_zeros(3), SRC[3:].amax(0))),
        (lambda: torch_scatter.segment_coo(SRC, INDEX, reduce="mul"), ValueError, ""),
    ),
    "torch_scatter.segment_csr": Row(
        lambda: torch_scatter.segment_csr(SRC, torch.tensor([0, 2, 6]), reduce="mean"),
        (2, 3), lambda: torch.stack((SRC[:2].mean(0), SRC[2:].mean(0))),
        (lambda: torch_scatter.segment_csr(SRC, torch.tensor([0, 6]), reduce="mul"),
         ValueError, ""),
    ),
    "torch_scatter.gather_coo": Row(
        lambda: torch_scatter.gather_coo(SRC, INDEX), (6, 3), lambda: SRC[INDEX]
    ),
    "torch_scatter.gather_csr": Row(
        lambda: torch_scatter.gather_csr(SRC[:2], torch.tensor([0, 2, 6])), (6, 3),
        lambda: SRC[[0, 0, 1, 1, 1, 1]],
    ),
    "torch_sparse.spmm": Row(
        lambda: torch_sparse.spmm(EDGES, VALUES, 3, 3, SRC[:3]), (3, 3),
        lambda: DENSE @ SRC[:3],
        (lambda: torch_sparse.spmm(EDGES, VALUES, 3, 3, SRC), AssertionError, ""),
    ),
    "torch_sparse.coalesce": Row(
        lambda: torch_sparse.coalesce(EDGES, VALUES, 3, 3)[1], (4,),
        lambda: torch.tensor([6.0, 2, 3, 4]),
    ),
    "torch_sparse.transpose": Row(
        lambda: torch_sparse.transpose(EDGES, VALUES, 3, 3)[0], (2, 4),
        lambda: torch.tensor([[0, 1, 2, 2], [1, 0, 0, 2]]), None, torch.int64,
    ),
    "torch_sparse.spspmm": Row(
        lambda: torch_sparse.spspmm(
            DENSE.nonzero().t(), DENSE[DENSE != 0], DENSE.nonzero().t(),
            DENSE[DENSE != 0], 3, 3, 3,
        )[1], (5,), lambda: (DENSE @ DENSE)[DENSE @ DENSE != 0],
    ),
    "torch_sparse.SparseTensor": Row(
        lambda: matrix().to_dense(), (3, 3), lambda: DENSE,
        (lambda: torch_sparse.SparseTensor(row=EDGES[0], col=EDGES[1].int()),
         AssertionError, ""),
    ),
    "torch_sparse.matmul": Row(
        lambda: torch_sparse.matmul(matrix(), SRC[:3], "max"), (3, 3),
        lambda: torch.stack((
            torch.maximum(6 * SRC[1], 2 * SRC[2]), 3 * SRC[0], 4 * SRC[2],
        )),
        (lambda: torch_sparse.matmul(matrix(), SRC[:3], "mul"), ValueError, ""),
    ),
    "torch_cluster.knn": Row(
        lambda: torch_cluster.knn(SQUARE, QUERIES, 2).sort(1).values, (2, 4),
        lambda: torch.tensor([[0, 0, 1, 1], [0, 1, 2, 3]]),
        (lambda: torch_cluster.knn(SQUARE, CLOUD[0], 2), RuntimeError, "mismatch"),
        torch.int64,
    ),
    "torch_cluster.knn_graph": Row(
        lambda: torch_cluster.knn_graph(SQUARE, 2), (2, 8), None,
        (lambda: torch_cluster.knn_graph(SQUARE, 2, flow="up"), AssertionError, ""),
        torch.int64,
    ),
    "torch_cluster.radius": Row(
        lambda: torch_cluster.radius(SQUARE, QUERIES, 1.5), (2, 4),
        lambda: torch.tensor([[0, 0, 1, 1], [0, 1, 2, 3]]), None, torch.int64,
    ),
    "torch_cluster.radius_graph": Row(
        lambda: torch_cluster.radius_graph(SQUARE, 2.5), (2, 8), None,
        (lambda: torch_cluster.radius_graph(SQUARE, 2.5, flow="up"), AssertionError,
         ""), torch.int64,
    ),
    "torch_cluster.nearest": Row(
        lambda: torch_cluster.nearest(SQUARE, QUERIES), (4,),
        lambda: torch.tensor([0, 0, 1, 1]), None, torch.int64,
    ),
    "torch_cluster.fps": Row(
        lambda: torch_cluster.fps(SQUARE, ratio=0.5, random_start=False), (2,),
        lambda: torch.tensor([0, 3]),
        (lambda: torch_cluster.fps(SQUARE, INDEX), AssertionError, ""), torch.int64,
    ),
    "torch_cluster.grid_cluster": Row(
        lambda: torch_cluster.grid_cluster(
            torch.tensor([[0.0, 0], [11, 9], [2, 8], [2, 2], [8, 3]]),
            torch.tensor([5.0, 5]),
        ), (5,), lambda: torch.tensor([0, 5, 3, 0, 1]), None, torch.int64,
    ),
    "pytorch3d.knn_points": Row(
        lambda: pytorch3d.knn_points(CLOUD, OTHER, K=2).idx, (2, 7, 2), nearest_places,
        (lambda: pytorch3d.knn_points(CLOUD, OTHER[..., :2]), ValueError,
         "same point dimension"), torch.int64,
    ),
    "pytorch3d.knn_gather": Row(
        lambda: pytorch3d.knn_gather(OTHER, nearest_places()), (2, 7, 2, 3),
        lambda: torch.stack([OTHER[b][nearest_places()[b]] for b in range(2)]),
        (lambda: pytorch3d.knn_gather(OTHER[:1], nearest_places()), ValueError,
         "same batch dimension"),
    ),
    "pytorch3d.masked_gather": Row(
        lambda: pytorch3d.masked_gather(OTHER, torch.tensor([[0, -1], [4, 1]])),
        (2, 2, 3),
        lambda: torch.stack((OTHER[0, 0], 0 * OTHER[0, 0], OTHER[1, 4], OTHER[1, 1]))
        .view(2, 2, 3),
        (lambda: pytorch3d.masked_gather(OTHER, torch.tensor([[0]])), ValueError,
         "same batch dimension"),
    ),
    "pytorch3d.ball_query": Row(
        lambda: pytorch3d.ball_query(SQUARE[None], SQUARE[None], K=3, radius=2.5).idx,
        (1, 4, 3),
        lambda: torch.tensor([[[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]]),
        (lambda: pytorch3d.ball_query(CLOUD, OTHER[:1]), ValueError,
         "same batch dimension"), torch.int64,
    ),
    "pytorch3d.sample_farthest_points": Row(
        lambda: pytorch3d.sample_farthest_points(SQUARE[None], K=2)[0], (1, 2, 2),
        lambda: SQUARE[None, [0, 3]],
        (lambda: pytorch3d.sample_farthest_points(CLOUD, torch.tensor([7])), ValueError,
         "same batch dimension"),
    ),
    "pytorch3d.chamfer_distance": Row(
        lambda: pytorch3d.chamfer_distance(CLOUD, OTHER)[0], (),
        lambda: sum(
            torch.cdist(x, y).square().amin(1).mean() / 2
            for b in range(2)
            for x, y in ((CLOUD[b], OTHER[b]), (OTHER[b], CLOUD[b]))
        ),
        (lambda: pytorch3d.chamfer_distance(CLOUD, OTHER, norm=3), ValueError,
         "1 or 2 norm"),
    ),
    "spconv.SubMConv3d": Row(
        lambda: spconv.SubMConv3d(3, 5, 3, padding=1)(voxels()).features, (4, 5), None,
        (lambda: spconv.SubMConv3d(4, 5, 3)(voxels()), AssertionError, "channel size"),
    ),
    "spconv.SparseConv3d": Row(
        strided, (3, 5), None,
        (lambda: spconv.SparseConv3d(3, 5, 1, padding=1), AssertionError, "padding"),
    ),
    "spconv.SparseInverseConv3d": Row(inverse, (4, 6)),
    "spconv.SubMConv2d": Row(lambda: flat(spconv.SubMConv2d), (4, 5)),
    "spconv.SparseConv2d": Row(lambda: flat(spconv.SparseConv2d, stride=8, padding=1),
                               (2, 5)),
    "spconv.SparseConvTensor": Row(
        lambda: voxels().dense(), (2, 3, 8, 8, 8), None,
        (lambda: voxels(dtype=torch.int64), AssertionError, "int32"),
    ),
    "spconv.SparseSequential": Row(
        lambda: spconv.SparseSequential(spconv.SubMConv3d(3, 5, 3), nn.BatchNorm1d(5))(
            voxels()
        ).features, (4, 5),
    ),
    "MinkowskiEngine.SparseTensor": Row(
        lambda: (sparse() + sparse()).F, (4, 3), lambda: torch.full((4, 3), 2.0),
        (lambda: MinkowskiEngine.SparseTensor(torch.ones(3, 2), POINTS), AssertionError,
         "number of rows"),
    ),
    "MinkowskiEngine.MinkowskiConvolution": Row(
        lambda: MinkowskiEngine.MinkowskiConvolution(3, 5, 3, dimension=3)(sparse()).F,
        (4, 5), None,
        (lambda: MinkowskiEngine.MinkowskiConvolution(4, 5, 3, dimension=3)(sparse()),
         RuntimeError, "mismatch"),
    ),
    "MinkowskiEngine.MinkowskiConvolutionTranspose": Row(up_again, (4, 6)),
    "MinkowskiEngine.MinkowskiLinear": Row(
        lambda: MinkowskiEngine.MinkowskiLinear(3, 5)(sparse()).F, (4, 5)
    ),
    "MinkowskiEngine.MinkowskiBatchNorm": Row(
        lambda: MinkowskiEngine.MinkowskiBatchNorm(3)(sparse()).F, (4, 3),
        lambda: torch.zeros(4, 3),
    ),
    "MinkowskiEngine.MinkowskiMaxPooling": Row(
        lambda: MinkowskiEngine.MinkowskiMaxPooling(2, 2, dimension=3)(sparse()).F,
        (3, 3), lambda: torch.ones(3, 3),
        (lambda: MinkowskiEngine.MinkowskiMaxPooling(2), AssertionError, ""),
    ),
    "MinkowskiEngine.MinkowskiGlobalPooling": Row(
        lambda: MinkowskiEngine.MinkowskiGlobalPooling()(sparse()).F, (2, 3),
        lambda: torch.ones(2, 3),
    ),
    "MinkowskiEngine.cat": Row(
        lambda: MinkowskiEngine.cat(sparse(), sparse(5)).F, (4, 8),
        lambda: torch.ones(4, 8),
    ),
    "tinycudann.Encoding": Row(
        lambda: tinycudann.Encoding(3, GRID)(torch.rand(5, 3)), (5, 8), None,
        (lambda: tinycudann.Encoding(2, {"otype": "SphericalHarmonics"}), RuntimeError,
         "3D directions"), torch.float16,
    ),
    "tinycudann.Network": Row(
        lambda: tinycudann.Network(8, 3, FUSED)(torch.rand(5, 8)), (5, 3), None,
        (lambda: tinycudann.Network(8, 3, {**FUSED, "n_neurons": 48}), RuntimeError,
         "128 neurons"), torch.float16,
    ),
    "tinycudann.NetworkWithInputEncoding": Row(
        lambda: tinycudann.NetworkWithInputEncoding(3, 4, GRID, FUSED)(
            torch.rand(5, 3)
        ), (5, 4), None,
        (lambda: tinycudann.NetworkWithInputEncoding(3, 4, GRID, FUSED)(
            torch.rand(5, 2)
        ), RuntimeError, "input must have shape"), torch.float16,
    ),
}  # fmt: skip
