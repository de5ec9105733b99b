import torch
import torch.nn as nn
import torch.nn.functional as F


class FCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()
        )
        self.classifier = nn.Conv2d(32, n_classes, 1)

    def forward(self, x):
        y = self.classifier(self.backbone(x))
        return F.interpolate(y, scale_factor=4, mode="bilinear", align_corners=False)


def pretrained():
    """Weights of the VOC model (21 classes), as they come off disk."""
    return FCN(21).state_dict()


class Model(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.net = FCN(n_classes)
        weights = pretrained()
        self.net.load_state_dict(weights, strict=False)

    def forward(self, image, mask):
        logits = self.net(image)
        mask = mask.long()
        return F.cross_entropy(logits, mask)


def example_inputs():
    # mask straight from ToTensor: 1 x H x W with values 0..3
    mask = torch.randint(0, 4, (2, 1, 32, 32)).float()
    return torch.rand(2, 3, 32, 32), mask
