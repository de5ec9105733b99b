import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models import mobilenet_v2, resnet18

STRIDE = 32


class ScrewDataset(Dataset):
    def __init__(self, n, size=128):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.rand(3, self.size, self.size, generator=g) * 0.2
        x1, y1 = torch.randint(5, self.size - 60, (2,), generator=g).tolist()
        side = int(torch.randint(30, 50, (1,), generator=g))
        image[:, y1:y1 + side, x1:x1 + side] += 0.7
        box = torch.tensor([x1, y1, x1 + side, y1 + side], dtype=torch.float32)
        return image, box


class GridDetector(nn.Module):
    def __init__(self, backbone, out_channels):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Conv2d(out_channels, 64, 1), nn.ReLU(), nn.Conv2d(64, 5, 1))

    def forward(self, images):
        out = self.head(self.backbone(images))
        return out[:, 0], out[:, 1:]


def create_mobilenet_model():
    return GridDetector(mobilenet_v2(weights=None).features, 1280)


def create_resnet_model():
    net = resnet18(weights=None)
    return GridDetector(nn.Sequential(*list(net.children())[:-2]), 512)


def cells_of(boxes):
    cx = ((boxes[:, 0] + boxes[:, 2]) / 2 / STRIDE).long()
    cy = ((boxes[:, 1] + boxes[:, 3]) / 2 / STRIDE).long()
    return cy, cx


def train(args):
    model = create_mobilenet_model().to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(ScrewDataset(32), batch_size=8, shuffle=True)
    for epoch in range(args.epochs):
        model.train()
        for images, boxes in loader:
            images, boxes = images.to(args.device), boxes.to(args.device)
            score, box = model(images)
            cy, cx = cells_of(boxes)
            rows = torch.arange(len(boxes), device=boxes.device)
            wanted = torch.zeros_like(score)
            wanted[rows, cy, cx] = 1.0
            loss_obj = F.binary_cross_entropy_with_logits(score, wanted)
            loss_box = F.smooth_l1_loss(box[rows, :, cy, cx], boxes / 128)
            loss = loss_obj + loss_box
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("[epoch %d] objectness %.3f  box %.3f" % (epoch, loss_obj.item(), loss_box.item()))
    torch.save({"model": model.state_dict(), "epoch": epoch}, args.weights)


def validate(args):
    model = create_resnet_model()
    weights_dict = torch.load(args.weights, map_location="cpu")
    model.load_state_dict(weights_dict["model"])
    model.to(args.device).eval()
    ious = []
    with torch.no_grad():
        for images, boxes in DataLoader(ScrewDataset(16), batch_size=4):
            score, box = model(images.to(args.device))
            best = score.flatten(1).argmax(dim=1)
            found = box.flatten(2)[torch.arange(len(best)), :, best].cpu() * 128
            lt, rb = torch.max(found[:, :2], boxes[:, :2]), torch.min(found[:, 2:], boxes[:, 2:])
            inter = (rb - lt).clamp(min=0).prod(dim=1)
            area = (found[:, 2:] - found[:, :2]).clamp(min=0).prod(dim=1) + (boxes[:, 2:] - boxes[:, :2]).prod(dim=1)
            ious.append(inter / (area - inter))
    ious = torch.cat(ious)
    print("mean IoU %.3f, recall@0.5 %.2f" % (ious.mean().item(), (ious > 0.5).float().mean().item()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weights", default=os.path.join(tempfile.mkdtemp(), "screw-model-1.pth"))
    args = parser.parse_args()
    torch.manual_seed(0)
    train(args)
    validate(args)
