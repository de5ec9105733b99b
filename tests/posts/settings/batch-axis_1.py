# line 12: the attention weights of additive pooling are normalised over the batch instead of over the time steps of each clip
import torch
import torch.nn as nn

torch.manual_seed(7)


class AttentivePooling(nn.Module):
    def __init__(self, channels, hidden=16):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(channels, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.norm = nn.Softmax(dim=0)

    def forward(self, frames):
        weights = self.norm(self.query(frames))
        return (weights * frames).sum(dim=1)


class AudioTagger(nn.Module):
    def __init__(self, mels=20, width=32, tags=4):
        super().__init__()
        self.front = nn.Conv1d(mels, width, 5, padding=2)
        self.pool = AttentivePooling(width)
        self.out = nn.Linear(width, tags)

    def forward(self, spectrogram):
        frames = torch.relu(self.front(spectrogram)).transpose(1, 2)
        return self.out(self.pool(frames))


spectrograms = torch.randn(96, 20, 30)
tags = torch.randint(4, (96,))
spectrograms[torch.arange(96), tags] += 1.0
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(spectrograms, tags), batch_size=16, shuffle=True
)
tagger = AudioTagger()
opt = torch.optim.AdamW(tagger.parameters(), lr=2e-3)
objective = nn.CrossEntropyLoss()
for epoch in range(4):
    seen, total = 0, 0.0
    for spec, tag in loader:
        loss = objective(tagger(spec), tag)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(spec)
        seen += len(spec)
    print(f"epoch {epoch}: {total / seen:.4f}")
