import torch
import torch.nn as nn
from pathlib import Path
from torch.utils.data import DataLoader, TensorDataset

# auto-decoder for signed distances of liver shapes: training, then evaluation from the stored file


class ImplicitNet(nn.Module):
    def __init__(self, latent_dim=32, width=64, n_layers=4):
        super().__init__()
        layers = []
        dim = latent_dim + 3
        for _ in range(n_layers):
            layers += [nn.Linear(dim, width), nn.ReLU()]
            dim = width
        layers.append(nn.Linear(dim, 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, latent, coords):
        return self.layers(torch.cat([latent, coords], dim=-1)).squeeze(-1)


def sphere_samples(n_shapes=4, n_points=300):
    idx = torch.arange(n_shapes).repeat_interleave(n_points)
    xyz = torch.rand(len(idx), 3) * 2 - 1
    radius = 0.3 + 0.1 * idx.float()
    return TensorDataset(idx, xyz, xyz.norm(dim=1) - radius)


def train(path, epochs=2):
    net = nn.DataParallel(ImplicitNet())
    latents = nn.Embedding(4, 32)
    opt = torch.optim.Adam([*net.parameters(), *latents.parameters()], lr=1e-3)
    for epoch in range(epochs):
        for idx, xyz, sdf in DataLoader(sphere_samples(), batch_size=256, shuffle=True):
            loss = (net(latents(idx), xyz) - sdf).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f'epoch {epoch}: L1 {loss.item():.4f}')
    torch.save({'net_state': net.state_dict(), 'latents': latents.state_dict()}, path)


def evaluate(path):
    ckpt = torch.load(path, map_location='cpu')
    net = ImplicitNet()
    latents = nn.Embedding(4, 32)
    net_state = ckpt['net_state']
    net.load_state_dict(net_state, strict=True)
    latents.load_state_dict(ckpt['latents'])
    net.eval()
    with torch.no_grad():
        idx, xyz, sdf = sphere_samples().tensors
        print('mean error:', (net(latents(idx), xyz) - sdf).abs().mean().item())


if __name__ == '__main__':
    ckpt_path = Path('implicit_net.pth')
    train(ckpt_path)
    evaluate(ckpt_path)
