import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, width=16, out_dim=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, out_dim))

    def forward(self, x):
        return F.normalize(self.head(self.body(x)), dim=1)


def init_opt(encoder, lr, weight_decay):
    """no weight decay on biases and on the weights of the batch norms"""
    groups = [
        {"params": [p for n, p in encoder.named_parameters() if p.ndim > 1]},
        {"params": [p for n, p in encoder.named_parameters() if p.ndim <= 1],
         "weight_decay": 0.0},
    ]
    return torch.optim.SGD(groups, lr=lr, momentum=0.9, weight_decay=weight_decay)


def two_views(n):
    x = torch.rand(n, 3, 1, 1).expand(n, 3, 16, 16)
    return x + 0.1 * torch.randn(n, 3, 16, 16), x + 0.1 * torch.randn(n, 3, 16, 16)


def train(encoder, optimizer, steps, temperature=0.1):
    encoder.train()
    for _ in range(steps):
        a, b = two_views(32)
        scores = encoder(a) @ encoder(b).t() / temperature
        loss = F.cross_entropy(scores, torch.arange(len(a)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def pretrain(path):
    encoder = Encoder()
    optimizer = init_opt(encoder, lr=0.05, weight_decay=1e-4)
    loss = train(encoder, optimizer, 15)
    state = {"module." + k: v for k, v in encoder.state_dict().items()}
    torch.save({"encoder": state, "opt": optimizer.state_dict(), "epoch": 15}, path)
    print("pretraining done, loss %.3f" % loss)


def load_checkpoint(path, encoder, optimizer):
    checkpoint = torch.load(path, map_location="cpu")
    pretrained = {k.replace("module.", ""): v for k, v in checkpoint["encoder"].items()}
    msg = encoder.load_state_dict(pretrained)
    print("encoder:", msg)
    optimizer.load_state_dict(checkpoint["opt"])
    return checkpoint["epoch"]


def continue_on_own_data(path):
    encoder = Encoder()
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    start = load_checkpoint(path, encoder, optimizer)
    for g in optimizer.param_groups:
        g["lr"] = 0.02
    for epoch in range(start, start + 3):
        print("epoch %d loss %.3f" % (epoch + 1, train(encoder, optimizer, 5)))


def main():
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "paws_ep15.pth.tar")
    pretrain(path)
    continue_on_own_data(path)


if __name__ == "__main__":
    main()
