import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class KeywordSpotter(nn.Module):
    def __init__(self, n_mels=20, n_words=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(n_mels, 32, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv1d(32, 32, 5, stride=2, padding=2), nn.ReLU(),
        )
        self.fc = nn.Linear(32, n_words)

    def forward(self, mel):
        return self.fc(self.conv(mel).mean(dim=-1))


device = "cuda" if torch.cuda.is_available() else "cpu"
words = torch.arange(192) % 6
mels = torch.randn(192, 20, 48)
mels[torch.arange(192), words] += 1.5
loader = DataLoader(TensorDataset(mels, words), batch_size=32, shuffle=True)

model = KeywordSpotter().to(device).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler(device, init_scale=1024)

for epoch in range(3):
    for mel, word in loader:
        mel, word = mel.to(device), word.to(device)
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(mel), word)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    print(f"epoch {epoch} loss {loss.item():.4f}")
