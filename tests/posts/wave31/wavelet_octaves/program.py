import math

import torch
from torch.utils.data import DataLoader, TensorDataset


class OctaveSplit(torch.nn.Module):
    """Orthogonal two-band split applied J times (lowpass chain + J highpass outputs)."""

    def __init__(self, J):
        super().__init__()
        self.J = J
        s = 1.0 / math.sqrt(2.0)
        self.register_buffer("lo", torch.tensor([[[s, s]]]))
        self.register_buffer("hi", torch.tensor([[[s, -s]]]))

    def forward(self, x):
        B, C, _ = x.shape
        details = []
        for _ in range(self.J):
            flat = x.reshape(B * C, 1, -1)
            details.append(torch.nn.functional.conv1d(flat, self.hi, stride=2).view(B, C, -1))
            x = torch.nn.functional.conv1d(flat, self.lo, stride=2).view(B, C, -1)
        return x, details


class OctaveNetDirect(torch.nn.Module):
    """
    Learns Q filters of length T in every octave of the input.

    Args:
        J_phi (int): number of octaves
        Q (int): filters per octave
        T (int): filter length
        in_channels (int): channels of the input
    """

    def __init__(self, *, J_phi, Q, T, in_channels):
        super().__init__()
        self.J_phi = J_phi
        self.Q = Q
        self.T = T
        self.C = in_channels
        self.split = OctaveSplit(J_phi)

        self.conv1d = []
        self.mix = []
        for j in range(J_phi):
            conv = torch.nn.Conv1d(
                in_channels, Q * in_channels, kernel_size=T, bias=False,
                groups=in_channels, padding=T // 2,
            )
            torch.nn.init.normal_(conv.weight, std=1.0 / math.sqrt(T))
            self.conv1d.append(conv)
            self.mix.append(torch.nn.Conv1d(Q * in_channels, Q, kernel_size=1))

    def forward(self, x):
        phi, details = self.split(x)
        outputs = []
        for j in range(self.J_phi):
            y = self.conv1d[j](details[j])
            y = self.mix[j](y).abs()
            outputs.append(y.mean(dim=-1))
        outputs.append(phi.mean(dim=-1))
        return torch.stack(outputs[:-1], dim=1).flatten(1), outputs[-1]


class PitchClassifier(torch.nn.Module):
    def __init__(self, n_classes, J=5, Q=4):
        super().__init__()
        self.frontend = OctaveNetDirect(J_phi=J, Q=Q, T=8, in_channels=1)
        self.norm = torch.nn.BatchNorm1d(J * Q + 1)
        self.head = torch.nn.Linear(J * Q + 1, n_classes)

    def forward(self, x):
        bands, low = self.frontend(x)
        return self.head(self.norm(torch.cat([bands, low], dim=1)))


def synth_tones(n, n_classes, length=1024):
    label = torch.randint(0, n_classes, (n,))
    f0 = 20.0 * 2 ** (label / 2.0)
    t = torch.linspace(0, 1, length)
    phase = 2 * math.pi * torch.rand(n, 1)
    wave = torch.sin(2 * math.pi * f0[:, None] * t + phase) + 0.5 * torch.randn(n, length)
    return wave[:, None], label


def main():
    torch.manual_seed(0)
    n_classes = 8
    x, y = synth_tones(512, n_classes)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    x_val, y_val = synth_tones(128, n_classes)

    model = PitchClassifier(n_classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    print("trainable parameters:", sum(p.numel() for p in model.parameters() if p.requires_grad))
    for epoch in range(5):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(dim=1) == y_val).float().mean()
        print(f"epoch {epoch}: loss {loss.item():.3f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
