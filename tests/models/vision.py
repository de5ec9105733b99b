"""Images in: classifiers, dense prediction, detection heads."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import case


def image(batch: int = 2, size: int = 32, channels: int = 3) -> Tensor:
    return torch.randn(batch, channels, size, size)


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


@case
def lenet():
    return LeNet(), image()


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        y += self.shortcut(x)
        return F.relu(y)


def residual_network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1),
        Residual(8, 8, 1),
        Residual(8, 16, 2),
        Residual(16, 32, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


@case
def resnet():
    return residual_network().eval(), image()


@case
def resnet_in_training():
    return residual_network().train(), image(4)


@case
def resnet_channels_last():
    model = residual_network().eval().to(memory_format=torch.channels_last)
    return model, image().to(memory_format=torch.channels_last)


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Linear(channels, channels // 4)
        self.up = nn.Linear(channels // 4, channels)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.up(F.silu(self.down(x.mean((2, 3))))).sigmoid()
        return x * weight[:, :, None, None]


@case
def mobile_block():
    return nn.Sequential(
        nn.Conv2d(3, 16, 1),
        nn.Conv2d(16, 16, 3, 2, 1, groups=16),
        nn.BatchNorm2d(16),
        nn.Hardswish(),
        SqueezeExcite(16),
        nn.Conv2d(16, 24, 1),
    ).eval(), image()


class Dense(nn.Module):
    def __init__(self, channels: int, growth: int, layers: int) -> None:
        super().__init__()
        sizes = [channels + growth * index for index in range(layers)]
        self.layers = nn.ModuleList(nn.Conv2d(n, growth, 3, 1, 1) for n in sizes)

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for layer in self.layers:
            features.append(F.relu(layer(torch.cat(features, 1))))
        return torch.cat(features, 1)


@case
def dense_block():
    return Dense(3, 4, 4), image()


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(3, 8, 3, padding=1)
        self.down2 = nn.Conv2d(8, 16, 3, padding=1)
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.merge = nn.Conv2d(16, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        first = F.relu(self.down1(x))
        second = F.relu(self.down2(F.max_pool2d(first, 2)))
        up = self.up(F.relu(self.middle(second)))
        if up.shape[-2:] != first.shape[-2:]:
            up = F.pad(up, (0, first.shape[-1] - up.shape[-1], 0, 1))
        return self.head(F.relu(self.merge(torch.cat([up, first], 1))))


@case
def unet():
    return UNet(), image()


@case
def unet_odd_size():
    return UNet(), image(size=33)


class VisionTransformer(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, 17, width))
        layer = nn.TransformerEncoderLayer(width, heads, 64, 0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
        return self.head(self.blocks(x)[:, 0])


@case
def vision_transformer():
    return VisionTransformer().train(), image()


class Windows(nn.Module):
    """Attention within windows of a shifted grid, as in Swin."""

    def __init__(self, width: int = 16, window: int = 4) -> None:
        super().__init__()
        self.window = window
        self.qkv = nn.Linear(width, 3 * width)
        self.bias = nn.Parameter(torch.zeros((2 * window - 1) ** 2, 2))
        grid = torch.stack(torch.meshgrid(*[torch.arange(window)] * 2, indexing="ij"))
        offset = grid.flatten(1)[:, :, None] - grid.flatten(1)[:, None, :]
        offset = offset + window - 1
        self.register_buffer("index", offset[0] * (2 * window - 1) + offset[1])

    def forward(self, x: Tensor) -> Tensor:
        B, H, W, C = x.shape
        w = self.window
        x = torch.roll(x, (-w // 2, -w // 2), (1, 2))
        x = x.view(B, H // w, w, W // w, w, C).permute(0, 1, 3, 2, 4, 5)
        x = x.reshape(-1, w * w, C)
        q, k, v = (
            self.qkv(x).reshape(len(x), w * w, 3, 2, C // 2).permute(2, 0, 3, 1, 4)
        )
        score = q @ k.transpose(-2, -1) / (C // 2) ** 0.5
        score = score + self.bias[self.index.view(-1)].view(w * w, w * w, 2).permute(
            2, 0, 1
        )
        x = (score.softmax(-1) @ v).transpose(1, 2).reshape(-1, w, w, C)
        x = x.view(B, H // w, W // w, w, w, C).permute(0, 1, 3, 2, 4, 5)
        return torch.roll(x.reshape(B, H, W, C), (w // 2, w // 2), (1, 2))


@case
def shifted_windows():
    return Windows(), torch.randn(2, 8, 12, 16)


class Mixer(nn.Module):
    def __init__(self, tokens: int = 16, width: int = 24) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.tokens = nn.Sequential(
            nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens)
        )
        self.channels = nn.Sequential(
            nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.norm(x).mT).mT
        return x + self.channels(self.norm(x))


@case
def mlp_mixer():
    return Mixer(), torch.randn(2, 16, 24)


class Pyramid(nn.Module):
    """Features at three scales, with a head shared by all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Conv2d(n, m, 3, 2, 1) for n, m in ((3, 8), (8, 16), (16, 32))
        )
        self.lateral = nn.ModuleDict({str(n): nn.Conv2d(n, 8, 1) for n in (8, 16, 32)})
        self.boxes = nn.Conv2d(8, 3 * 4, 3, padding=1)
        self.classes = nn.Conv2d(8, 3 * 5, 3, padding=1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        levels = []
        for stage in self.stages:
            x = F.relu(stage(x))
            levels.append(x)
        top = None
        boxes, classes = [], []
        for level in reversed(levels):
            side = self.lateral[str(level.shape[1])](level)
            if top is not None:
                side = side + F.interpolate(top, size=side.shape[-2:], mode="nearest")
            top = side
            boxes.append(self.boxes(side).permute(0, 2, 3, 1).reshape(len(x), -1, 4))
            classes.append(
                self.classes(side).permute(0, 2, 3, 1).reshape(len(x), -1, 5)
            )
        return {"boxes": torch.cat(boxes, 1), "classes": torch.cat(classes, 1)}


@case
def detection_pyramid():
    return Pyramid(), image(size=40)


class GridDetector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 3 * 7, 8, 8)
        self.register_buffer("anchors", torch.tensor([[8.0, 8], [16, 8], [8, 16]]))

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        B, _, H, W = y.shape
        y = y.view(B, 3, 7, H, W).permute(0, 1, 3, 4, 2).contiguous()
        rows, columns = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
        grid = torch.stack((columns, rows), 2).view(1, 1, H, W, 2).float()
        y[..., :2] = (y[..., :2].sigmoid() + grid) * 8
        y[..., 2:4] = y[..., 2:4].exp() * self.anchors.view(1, 3, 1, 1, 2)
        return y.view(B, -1, 7)


@case
def grid_detector():
    return GridDetector(), image(size=48)


class SpatialTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.locate = nn.Sequential(
            nn.AdaptiveMaxPool2d(4), nn.Flatten(), nn.Linear(48, 6)
        )

    def forward(self, x: Tensor) -> Tensor:
        theta = self.locate(x).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


@case
def spatial_transformer():
    return SpatialTransformer(), image()


class Atrous(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Conv2d(3, 4, 3, padding=rate, dilation=rate) for rate in (1, 2, 4)
        )
        self.project = nn.LazyConv2d(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        pooled = F.adaptive_avg_pool2d(x, 1)
        pooled = F.interpolate(
            pooled, x.shape[-2:], mode="bilinear", align_corners=False
        )
        y = torch.cat([branch(x) for branch in self.branches] + [pooled], 1)
        return F.interpolate(self.project(y), scale_factor=2, mode="bicubic")


@case
def atrous_segmentation_lazy():
    return Atrous(), image()


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(27, 27)

    def forward(self, x: Tensor) -> Tensor:
        columns = F.unfold(x, 3, padding=1, stride=2)
        return F.fold(self.mix(columns.mT).mT, x.shape[-2:], 3, padding=1, stride=2)


@case
def unfold_and_fold():
    return Patches(), image()


@case
def super_resolution():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, padding_mode="reflect"),
        nn.PReLU(),
        nn.Conv2d(16, 27, 3, padding="same"),
        nn.PixelShuffle(3),
    ), image(size=8)


@case
def video_convolution():
    return nn.Sequential(
        nn.Conv3d(3, 8, (3, 5, 5), (1, 2, 2), (1, 2, 2)),
        nn.BatchNorm3d(8),
        nn.ReLU(True),
        nn.MaxPool3d((1, 2, 2)),
        nn.AdaptiveAvgPool3d((None, 1, 1)),
        nn.Flatten(2),
    ).eval(), torch.randn(2, 3, 6, 24, 24)
