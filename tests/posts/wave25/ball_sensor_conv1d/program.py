import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SIGNAL_LENGTH = 400
AXES = 3
BALLS = ["football", "basketball", "tennis", "medicine"]


class BatchNormedConv1d(nn.Module):
    """Convolution followed by batch norm, working on flat signals."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1):
        super().__init__()
        self.in_channels = in_channels
        self.conv1d = nn.Conv1d(in_channels, out_channels, kernel_size, stride=stride)
        self.batch_norm = nn.BatchNorm1d(num_features=out_channels)

    def forward(self, x):
        has_batches = x.dim() == 2
        if has_batches:
            x = x.view(x.shape[0], self.in_channels, -1)
        else:
            x = x.view(self.in_channels, -1)
        x = self.batch_norm(self.conv1d(x))
        return x.view(x.shape[0], -1) if has_batches else x.view(-1)

    def out_length(self, length):
        return (length - self.conv1d.kernel_size[0]) // self.conv1d.stride[0] + 1


def build_model(signal_length):
    conv1 = BatchNormedConv1d(AXES, 32, kernel_size=8, stride=4)
    conv2 = BatchNormedConv1d(32, 16, kernel_size=5, stride=2)
    length = conv2.out_length(conv1.out_length(signal_length))
    return nn.Sequential(
        conv1,
        nn.ReLU(),
        conv2,
        nn.ReLU(),
        nn.Linear(16 * length, 32),
        nn.ReLU(),
        nn.Linear(32, len(BALLS)),
    )


def load_measurements(n, rng):
    """Accelerometer recordings of a bouncing ball, three axes each."""
    t = np.linspace(0, 4, SIGNAL_LENGTH)
    labels = rng.integers(0, len(BALLS), size=n)
    signals = []
    for label in labels:
        freq, damping = 2 + 2 * label, 0.3 + 0.2 * label
        base = np.exp(-damping * t) * np.cos(2 * np.pi * freq * t)
        signals.append([base * g + 0.1 * rng.normal(size=t.size) for g in (0.2, 0.4, 1.0)])
    samples = torch.tensor(np.array(signals), dtype=torch.float32)
    return TensorDataset(samples, torch.from_numpy(labels))


def train(model, train_data, test_data, epochs=4, batch_size=32):
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train_loader = DataLoader(train_data, batch_size=batch_size, shuffle=True)
    test_loader = DataLoader(test_data, batch_size=batch_size)
    for epoch in range(epochs):
        model.train()
        losses = []
        for samples, labels in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(samples), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            hits = sum((model(s).argmax(1) == l).sum().item() for s, l in test_loader)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, test acc {hits / len(test_data):.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train_data = load_measurements(320, rng)
    test_data = load_measurements(80, rng)
    train(build_model(SIGNAL_LENGTH), train_data, test_data)
