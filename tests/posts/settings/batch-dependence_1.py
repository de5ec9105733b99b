# line 9: the clips of a batch are all scaled by the peak of the whole batch
import torch
import torch.nn as nn

CFG = dict(rate=1600, clips=48, batch=12, lr=2e-3, epochs=4)


def peak_normalize(wave, eps=1e-8):
    peak = torch.max(torch.abs(wave))
    return wave / (peak + eps)


class WaveClassifier(nn.Module):
    def __init__(self, n_out=3):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 8, 16, stride=4), nn.ReLU(),
            nn.Conv1d(8, 16, 8, stride=4), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )
        self.fc = nn.Linear(16, n_out)

    def forward(self, wave):
        wave = peak_normalize(wave)
        return self.fc(self.conv(wave.unsqueeze(1)))


def tones(n):
    kind = torch.randint(3, (n,))
    t = torch.arange(CFG["rate"]) / CFG["rate"]
    freq = torch.tensor([40.0, 90.0, 160.0])[kind]
    loud = torch.rand(n, 1) * 5 + 0.1
    return loud * torch.sin(2 * torch.pi * freq[:, None] * t) + 0.05 * torch.randn(n, len(t)), kind


torch.manual_seed(11)
waves, kinds = tones(CFG["clips"])
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(waves, kinds), CFG["batch"], shuffle=True
)
clf = WaveClassifier()
opt = torch.optim.Adam(clf.parameters(), lr=CFG["lr"])
loss_fn = nn.CrossEntropyLoss()
for epoch in range(CFG["epochs"]):
    clf.train()
    for w, k in loader:
        opt.zero_grad()
        loss_fn(clf(w), k).backward()
        opt.step()
clf.eval()
with torch.no_grad():
    w, k = tones(30)
    print("accuracy", (clf(w).argmax(1) == k).float().mean().item())
