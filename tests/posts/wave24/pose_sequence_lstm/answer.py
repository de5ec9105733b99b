import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

N_STEPS = 32
N_JOINTS = 18
N_INPUT = N_JOINTS * 2
N_CLASSES = 6

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_poses(n, rng):
    """2D joint positions in pixels, one row of 36 values per frame."""
    labels = rng.integers(0, N_CLASSES, size=n)
    t = np.arange(N_STEPS)[None, :, None]
    base = np.linspace(40, 600, N_INPUT)[None, None, :]
    speed = 0.15 + 0.12 * labels[:, None, None]
    phase = rng.uniform(0, 2 * np.pi, size=(n, 1, 1))
    amplitude = np.linspace(1, 8, N_INPUT)[None, None, :]
    poses = base + amplitude * np.sin(speed * t + phase) + rng.normal(0, 0.5, size=(n, N_STEPS, N_INPUT))
    return poses.astype(np.float32), labels


class PoseLSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, layer_num):
        super().__init__()
        self.bn = nn.BatchNorm1d(input_dim)
        self.lstm = nn.LSTM(input_dim, hidden_dim, layer_num, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, inputs):
        x = self.bn(inputs.transpose(1, 2)).transpose(1, 2)
        lstm_out, _ = self.lstm(x)
        return self.fc(lstm_out[:, -1, :])


def accuracy(model, loader):
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for poses, labels in loader:
            pred = model(poses.to(device)).argmax(dim=1).cpu()
            correct += (pred == labels).sum().item()
            total += labels.size(0)
    return correct / total


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x_train, y_train = make_poses(1200, rng)
    x_test, y_test = make_poses(300, rng)
    train_set = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
    test_set = TensorDataset(torch.from_numpy(x_test), torch.from_numpy(y_test))
    train_loader = DataLoader(train_set, batch_size=100, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=100)

    model = PoseLSTM(N_INPUT, 48, N_CLASSES, layer_num=2).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(8):
        model.train()
        running = 0.0
        for poses, labels in train_loader:
            poses, labels = poses.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(model(poses), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch + 1}: loss {running / len(train_loader):.3f}  test acc {accuracy(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
