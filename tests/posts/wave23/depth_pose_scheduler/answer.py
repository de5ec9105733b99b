import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description="Depth and pose from short image sequences")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("-b", "--batch-size", type=int, default=8)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--scheduler", choices=["none", "step"], default="step")
parser.add_argument("--step-size", type=int, default=30)
parser.add_argument("-s", "--smooth-weight", type=float, default=0.1)
args = parser.parse_args()


class DispNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(32, 16, 3, padding=1), nn.ReLU(),
            nn.Upsample(scale_factor=2), nn.Conv2d(16, 1, 3, padding=1),
        )

    def forward(self, x):
        return torch.sigmoid(self.decoder(self.encoder(x)))


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(6, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.pose = nn.Linear(32, 6)

    def forward(self, target, reference):
        return 0.1 * self.pose(self.features(torch.cat([target, reference], dim=1)))


def smooth_loss(disp):
    dx = (disp[..., :, 1:] - disp[..., :, :-1]).abs().mean()
    dy = (disp[..., 1:, :] - disp[..., :-1, :]).abs().mean()
    return dx + dy


def make_data(n=64):
    target = torch.rand(n, 3, 32, 32)
    reference = torch.roll(target, shifts=1, dims=3)
    disp = F.avg_pool2d(target.mean(dim=1, keepdim=True), 5, stride=1, padding=2)
    motion = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).repeat(n, 1)
    return TensorDataset(target, reference, disp, motion)


def train(loader, disp_net, pose_net, optimizer, scheduler, device):
    disp_net.train()
    pose_net.train()
    total = 0.0
    for target, reference, disp, motion in loader:
        target, reference = target.to(device), reference.to(device)
        disp, motion = disp.to(device), motion.to(device)
        pred_disp = disp_net(target)
        pred_pose = pose_net(target, reference)
        loss = F.l1_loss(pred_disp, disp) + F.mse_loss(pred_pose, motion) + args.smooth_weight * smooth_loss(pred_disp)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
        total += loss.item() * target.size(0)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(make_data(), batch_size=args.batch_size, shuffle=True)
    disp_net, pose_net = DispNet().to(device), PoseNet().to(device)
    optimizer = torch.optim.Adam(list(disp_net.parameters()) + list(pose_net.parameters()), lr=args.lr)
    scheduler = None
    if args.scheduler == "step":
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=args.step_size, gamma=0.5)
    for epoch in range(args.epochs):
        loss = train(loader, disp_net, pose_net, optimizer, scheduler, device)
        print(f"epoch {epoch + 1}: loss {loss:.4f} lr {optimizer.param_groups[0]['lr']:.2e}")


if __name__ == "__main__":
    main()
