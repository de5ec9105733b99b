import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)


class GestureDataset(Dataset):
    """IMU windows; the class is the order of two bumps on the axes."""

    def __init__(self, n, T=40, channels=6):
        self.x, self.y = [], []
        for _ in range(n):
            c = np.random.randint(4)
            sig = np.random.randn(T, channels) * 0.3
            a, b = (8, 26) if c % 2 else (26, 8)
            sig[a:a + 6, c // 2] += 2
            sig[b:b + 6, 2 + c // 2] += 2
            self.x.append(sig.astype(np.float32))
            self.y.append(c)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), self.y[i]


class GestureTransformer(nn.Module):
    def __init__(self, channels=6, d_model=32, nhead=4, num_layers=2, num_classes=4, max_len=64):
        super().__init__()
        self.input_proj = nn.Linear(channels, d_model)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos_embed = nn.Parameter(torch.randn(1, max_len, d_model) * 0.02)
        encoder_layer = nn.TransformerEncoderLayer(d_model=d_model, nhead=nhead, dim_feedforward=64, dropout=0.1)
        self.encoder = nn.TransformerEncoder(encoder_layer, num_layers=num_layers)
        self.norm = nn.LayerNorm(d_model)
        self.fc = nn.Linear(d_model, num_classes)

    def forward(self, x):
        b, t, _ = x.shape
        x = self.input_proj(x)
        cls = self.cls_token.expand(b, -1, -1)
        x = torch.cat([cls, x], dim=1)
        x = x + self.pos_embed[:, :t + 1]
        x = self.encoder(x)
        return self.fc(self.norm(x[:, 0]))


def accuracy(model, loader):
    model.eval()
    n_ok, n = 0, 0
    with torch.no_grad():
        for x, y in loader:
            n_ok += (model(x).argmax(-1) == y).sum().item()
            n += y.numel()
    return n_ok / n


def main():
    train_dl = DataLoader(GestureDataset(512), batch_size=32, shuffle=True)
    test_dl = DataLoader(GestureDataset(128), batch_size=32)
    model = GestureTransformer()
    optim = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=6)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        running = 0.0
        for x, y in train_dl:
            optim.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optim.step()
            running += loss.item()
        sched.step()
        print(f'epoch {epoch}: loss {running / len(train_dl):.4f} test acc {accuracy(model, test_dl):.3f}')


if __name__ == '__main__':
    main()
