import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchvision import transforms

parser = argparse.ArgumentParser()
parser.add_argument("--large_bs", type=int, default=256)
parser.add_argument("--small_bs", type=int, default=32)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--threshold", type=float, default=0.95)
parser.add_argument("--num_classes", type=int, default=5)


class ClusterNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.fc = nn.Linear(32 * 4, num_classes)

    def forward(self, x):
        return torch.softmax(self.fc(self.conv(x).flatten(1)), dim=1)


def similarity_graph(net, images, threshold):
    net.eval()
    with torch.no_grad():
        feat = F.normalize(net(images), dim=1)
        graph = (feat @ feat.t() > threshold).float()
    net.train()
    return graph


def graph_loss(prob, target):
    feat = F.normalize(prob, dim=1)
    sim = (feat @ feat.t()).clamp(1e-6, 1 - 1e-6)
    return F.binary_cross_entropy(sim, target)


def train(args, loader, net, optimizer, augment, device):
    net.train()
    losses = []
    for step, (input_tensor, _) in enumerate(loader):
        input_tensor = input_tensor.to(device)
        graph = similarity_graph(net, input_tensor, args.threshold)
        augmented = augment(input_tensor)

        index_loc = np.arange(input_tensor.size(0))
        np.random.shuffle(index_loc)
        for start in range(0, len(index_loc), args.small_bs):
            address = torch.from_numpy(index_loc[start:start + args.small_bs]).to(device)
            images = augmented[address]
            target = graph[address][:, address]
            loss = graph_loss(net(images), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return np.mean(losses)


def synthetic_images(n, num_classes):
    labels = torch.randint(0, num_classes, (n,))
    colors = torch.rand(num_classes, 3)
    images = colors[labels][:, :, None, None] + 0.1 * torch.randn(n, 3, 16, 16)
    return TensorDataset(images, labels)


def main():
    args = parser.parse_args()
    torch.manual_seed(0)
    np.random.seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = synthetic_images(700, args.num_classes)
    loader = DataLoader(dataset, batch_size=args.large_bs, shuffle=True)
    augment = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.RandomCrop(16, padding=2)])
    net = ClusterNet(args.num_classes).to(device)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        print(f"epoch {epoch} loss {train(args, loader, net, optimizer, augment, device):.4f}")


if __name__ == "__main__":
    main()
