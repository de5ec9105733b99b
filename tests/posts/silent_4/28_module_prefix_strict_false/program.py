import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(28)


def build_model():
    return nn.Sequential(
        nn.Conv1d(1, 8, 7, padding=3), nn.ReLU(), nn.AdaptiveAvgPool1d(8),
        nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3),
    )


freq = torch.tensor([3.0, 7.0, 13.0])
labels = torch.randint(0, 3, (600,))
t = torch.linspace(0, 1, 100)
audio = torch.sin(2 * torch.pi * freq[labels, None] * t + torch.rand(600, 1) * 6.28)
audio = (audio + 0.3 * torch.randn_like(audio)).unsqueeze(1)
train_loader = DataLoader(TensorDataset(audio[:500], labels[:500]), batch_size=25, shuffle=True)
test_x, test_y = audio[500:], labels[500:]

model = nn.DataParallel(build_model())
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()


@torch.no_grad()
def accuracy(net):
    net.eval()
    return (net(test_x).argmax(1) == test_y).float().mean().item()


print(f"accuracy after training {accuracy(model):.3f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "audio_net.pt")
    torch.save({"epoch": 15, "model": model.state_dict()}, path)

    checkpoint = torch.load(path, map_location="cpu")
    net = build_model()
    net.load_state_dict(checkpoint["model"], strict=False)

print(f"accuracy of loaded model {accuracy(net):.3f}")
