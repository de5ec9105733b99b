# line 38: the log-softmax over the similarities of all views has each view's similarity to itself among its candidates
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class TwoCrops(Dataset):
    def __init__(self, n, length=96, crop=48):
        phase = 6.28 * torch.rand(n, 1)
        pitch = 4 + 20 * torch.rand(n, 1)
        self.audio = torch.sin(pitch * torch.linspace(0, 6.28, length) + phase)
        self.crop = crop

    def __len__(self):
        return len(self.audio)

    def view(self, i):
        at = int(torch.randint(0, self.audio.size(1) - self.crop, ()))
        return self.audio[i, at : at + self.crop] + 0.1 * torch.randn(self.crop)

    def __getitem__(self, i):
        return self.view(i), self.view(i)


class ContrastiveLearner:
    def __init__(self, temperature=0.2):
        self.encoder = nn.Sequential(
            nn.Unflatten(1, (1, -1)), nn.Conv1d(1, 16, 9), nn.ReLU(), nn.Conv1d(16, 16, 9, 2), nn.ReLU(),
            nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(16, 12),
        )
        self.temperature = temperature
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=3e-3)

    def loss(self, first, second):
        codes = self.encoder(torch.cat((first, second)))
        table = F.cosine_similarity(codes.unsqueeze(1), codes.unsqueeze(0), dim=-1) / self.temperature
        table = table - torch.diag(torch.full((len(codes),), 1e9))
        partner = (torch.arange(len(codes)) + len(first)) % len(codes)
        return -table.log_softmax(dim=1).gather(1, partner.unsqueeze(1)).mean()

    def epoch(self, loader):
        self.encoder.train()
        total, n = 0.0, 0
        for first, second in loader:
            self.optimizer.zero_grad()
            loss = self.loss(first, second)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(first)
            n += len(first)
        return total / n


torch.manual_seed(0)
learner = ContrastiveLearner()
loader = DataLoader(TwoCrops(256), batch_size=32, shuffle=True, drop_last=True)
for k in range(5):
    print(k, learner.epoch(loader))

learner.encoder.eval()
with torch.no_grad():
    a, b = next(iter(DataLoader(TwoCrops(50), batch_size=50)))
    similar = F.normalize(learner.encoder(a), dim=1) @ F.normalize(learner.encoder(b), dim=1).t()
print("pairs found", (similar.argmax(1) == torch.arange(50)).float().mean().item())
