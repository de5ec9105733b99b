import math

import torch
from torch import nn, Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

N_PRODUCTS = 300
PAD_ID = 0


class BasketHistory(Dataset):
    """Past purchases of one shopper, and whether the subscription was renewed."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            length = int(torch.randint(5, 25, (1,), generator=g))
            items = torch.randint(1, N_PRODUCTS, (length,), generator=g)
            renewed = float((items < N_PRODUCTS // 2).float().mean() > 0.5)
            self.rows.append((items, renewed))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    items = pad_sequence([r[0] for r in rows], batch_first=True, padding_value=PAD_ID)
    return items, torch.tensor([r[1] for r in rows])


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(pos * div)
        pe[0, :, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[:, : x.size(1)]


class RenewalModel(nn.Module):
    def __init__(self, d_model: int = 32, heads: int = 4, layers: int = 2):
        super().__init__()
        self.embed = nn.Embedding(N_PRODUCTS, d_model, padding_idx=PAD_ID)
        self.position = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, heads, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, 1)

    def forward(self, items: Tensor) -> Tensor:
        padding = items == PAD_ID
        h = self.position(self.embed(items))
        h = self.encoder(h, src_key_padding_mask=padding)
        keep = (~padding).unsqueeze(-1).float()
        pooled = (h * keep).sum(1) / keep.sum(1)
        return self.out(self.norm(pooled)).squeeze(-1)


def evaluate(model, loader):
    model.eval()
    good = 0
    with torch.no_grad():
        for items, renewed in loader:
            good += ((model(items) > 0) == renewed.bool()).sum().item()
    return good / len(loader.dataset)


def main():
    torch.manual_seed(33)
    train_loader = DataLoader(BasketHistory(256, 0), batch_size=32, shuffle=True, collate_fn=collate)
    valid_loader = DataLoader(BasketHistory(64, 1), batch_size=32, collate_fn=collate)
    model = RenewalModel()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
    for epoch in range(3):
        model.train()
        for items, renewed in train_loader:
            loss = criterion(model(items), renewed)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"epoch {epoch}  loss {loss.item():.3f}  valid accuracy {evaluate(model, valid_loader):.3f}")


if __name__ == "__main__":
    main()
