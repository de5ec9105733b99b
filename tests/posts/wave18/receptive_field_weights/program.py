import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def gaussian_field(size, angle, scale, ratio):
    lin = torch.linspace(-1, 1, size)
    y, x = torch.meshgrid(lin, lin, indexing='ij')
    u = x * torch.cos(angle) + y * torch.sin(angle)
    v = -x * torch.sin(angle) + y * torch.cos(angle)
    field = torch.exp(-(u ** 2 / scale ** 2 + v ** 2 / (scale * ratio) ** 2))
    dx = -u * field
    return dx / dx.abs().sum()


class SampledReceptiveField2d(nn.Module):
    def __init__(self, in_channels, n_angles, scales, size):
        super().__init__()
        self.in_channels = in_channels
        angles = torch.linspace(0, torch.pi, n_angles + 1)[:-1]
        fields = torch.stack([gaussian_field(size, a, torch.tensor(s), 1.5) for s in scales for a in angles])
        self.out_channels = len(fields) * in_channels
        weights = []
        for i in range(in_channels):
            in_weights = torch.zeros(len(fields), in_channels, size, size)
            in_weights[:, i] = fields
            weights.append(in_weights)
        self.weights = torch.cat(weights, 0)
        self.bias = nn.Parameter(torch.zeros(self.out_channels))

    def forward(self, x):
        return F.conv2d(x, self.weights, self.bias, padding='same')


class LIF(nn.Module):
    def __init__(self, tau=0.9, threshold=0.3):
        super().__init__()
        self.tau, self.threshold = tau, threshold

    def forward(self, current, state):
        v = torch.zeros_like(current) if state is None else state
        v = self.tau * v + current
        spikes = torch.sigmoid(8 * (v - self.threshold))
        return spikes, v * (1 - spikes)


class SpikingClassifier(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.field = SampledReceptiveField2d(2, 4, [0.3, 0.6], 9)
        self.lif = LIF()
        self.readout = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                                     nn.Linear(self.field.out_channels * 16, n_classes))

    def forward(self, events):
        state, out = None, 0
        for frame in events.unbind(1):
            spikes, state = self.lif(self.field(frame), state)
            out = out + self.readout(spikes)
        return out / events.shape[1]


def moving_bars(n=96, steps=6, size=24):
    g = torch.Generator().manual_seed(0)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.zeros(n, steps, 2, size, size)
    for i in range(n):
        for t in range(steps):
            k = 4 + 2 * t
            if y[i] < 2:
                x[i, t, int(y[i]), k, :] = 1
            else:
                x[i, t, int(y[i]) - 2, :, k] = 1
    return TensorDataset(x, y)


def main(epochs=3):
    torch.manual_seed(0)
    loader = DataLoader(moving_bars(), batch_size=16, shuffle=True)
    model = SpikingClassifier().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch}: {total / len(loader):.4f}')


if __name__ == '__main__':
    main()
