from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

EMOTIONS = ("neutral", "happy", "angry", "sad")


@dataclass
class Config:
    n_mels: int = 40
    max_frames: int = 120
    d_model: int = 80
    nhead: int = 8
    num_layers: int = 2
    dropout: float = 0.1
    batch_size: int = 16
    lr: float = 1e-3
    epochs: int = 3


class UtteranceDataset(Dataset):
    """Filterbank features of utterances, padded with zeros to max_frames."""

    def __init__(self, n, cfg, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(len(EMOTIONS), (n,), generator=g)
        self.lengths = torch.randint(40, 101, (n,), generator=g)
        self.feats = torch.zeros(n, cfg.max_frames, cfg.n_mels)
        for i in range(n):
            t = int(self.lengths[i])
            x = torch.randn(t, cfg.n_mels, generator=g)
            band = 10 * int(self.labels[i])
            x[10:25, band:band + 10] += 1.5
            self.feats[i, :t] = x

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.feats[i], self.lengths[i], self.labels[i]


class EmotionTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.proj = nn.Linear(cfg.n_mels, cfg.d_model)
        self.pos = nn.Parameter(0.02 * torch.randn(1, cfg.max_frames, cfg.d_model))
        layer = nn.TransformerEncoderLayer(
            cfg.d_model,
            cfg.nhead,
            dim_feedforward=2 * cfg.d_model,
            dropout=cfg.dropout,
            batch_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, cfg.num_layers, enable_nested_tensor=False)
        self.head = nn.Linear(cfg.d_model, len(EMOTIONS))

    def forward(self, feats, lengths):
        valid = torch.arange(feats.size(1), device=feats.device)[None, :] < lengths[:, None]
        x = self.proj(feats) + self.pos
        x = self.encoder(x, src_key_padding_mask=~valid)
        w = valid.unsqueeze(-1).float()
        pooled = (x * w).sum(dim=1) / w.sum(dim=1)
        return self.head(pooled)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = EmotionTransformer(cfg).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        self.criterion = nn.CrossEntropyLoss()
        self.train_loader = DataLoader(UtteranceDataset(256, cfg, 1), cfg.batch_size, shuffle=True)
        self.dev_loader = DataLoader(UtteranceDataset(64, cfg, 2), cfg.batch_size)

    def _run(self, loader, train):
        self.model.train(train)
        loss_sum, correct, seen = 0.0, 0, 0
        with torch.set_grad_enabled(train):
            for batch in loader:
                feats, lengths, labels = (b.to(self.device) for b in batch)
                logits = self.model(feats, lengths)
                loss = self.criterion(logits, labels)
                if train:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                loss_sum += loss.item() * labels.size(0)
                correct += (logits.argmax(dim=1) == labels).sum().item()
                seen += labels.size(0)
        return loss_sum / seen, correct / seen

    def fit(self):
        for epoch in range(self.cfg.epochs):
            loss, acc = self._run(self.train_loader, train=True)
            dev_loss, dev_acc = self._run(self.dev_loader, train=False)
            print(f"{epoch}: loss {loss:.3f} acc {acc:.3f} dev loss {dev_loss:.3f} dev acc {dev_acc:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(Config()).fit()
