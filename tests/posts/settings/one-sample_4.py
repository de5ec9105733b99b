# line 34: the output of the model is indexed by [0] as if it were a tuple, so only the first sequence meets all targets
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpeechEnhancer(nn.Module):
    def __init__(self, bins=9, width=32):
        super().__init__()
        self.rnn = nn.LSTM(bins, width, batch_first=True)
        self.mask = nn.Sequential(nn.Linear(width, bins), nn.Sigmoid())

    def forward(self, noisy):
        states, _ = self.rnn(noisy)
        return noisy * self.mask(states)


def spectrograms(n, frames=20):
    pitch = torch.randint(0, 7, (n, 1))
    clean = torch.zeros(n, frames, 9)
    clean.scatter_(2, pitch.unsqueeze(1).expand(-1, frames, 1), 1.0)
    clean.scatter_(2, pitch.unsqueeze(1).expand(-1, frames, 1) + 2, 0.6)
    return TensorDataset(clean + 0.3 * torch.rand_like(clean), clean)


class Lightning:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.loss = nn.L1Loss()

    def training_step(self, batch):
        noisy, clean = batch
        enhanced = self.model(noisy)[0]
        weight = 1.0 + clean
        return ((enhanced - clean).square() * weight).mean()

    def fit(self, loader, epochs):
        self.model.train()
        for epoch in range(epochs):
            total, n = 0.0, 0
            for batch in loader:
                self.optimizer.zero_grad()
                loss = self.training_step(batch)
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(batch[0])
                n += len(batch[0])
            print(epoch, total / n)

    @torch.no_grad()
    def test(self, loader):
        self.model.eval()
        errors = [self.loss(self.model(noisy), clean).item() * len(noisy) for noisy, clean in loader]
        return sum(errors) / len(loader.dataset)


torch.manual_seed(0)
job = Lightning(SpeechEnhancer())
job.fit(DataLoader(spectrograms(240), batch_size=24, shuffle=True), epochs=5)
print("test", job.test(DataLoader(spectrograms(80), batch_size=40)))
