import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class DecoderLayer(nn.Module):
    def __init__(self, d_model, nhead, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask):
        attended, _ = self.self_attn(x, x, x, attn_mask=mask, need_weights=False)
        x = self.norm1(x + self.drop(attended))
        return self.norm2(x + self.drop(self.ff(x)))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size=64, d_model=64, nhead=4, num_layers=2, max_len=32):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList(
            [DecoderLayer(d_model, nhead, 2 * d_model) for _ in range(num_layers)]
        )
        self.lm_head = nn.Linear(d_model, vocab_size)

    def causal_mask(self, size, device):
        allowed = torch.tril(torch.ones(size, size, device=device)).bool()
        return ~allowed

    def forward(self, ids):
        n = ids.size(1)
        h = self.wte(ids) + self.wpe(torch.arange(n, device=ids.device))
        mask = self.causal_mask(n, ids.device)
        for layer in self.layers:
            h = layer(h, mask)
        return self.lm_head(h)

    @torch.no_grad()
    def generate(self, ids, steps):
        self.eval()
        for _ in range(steps):
            logits = self(ids[:, -32:])[:, -1]
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
        return ids


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    corpus = torch.randint(0, 64, (288, 25))
    train_loader = DataLoader(TensorDataset(corpus[:256]), batch_size=32, shuffle=True)
    valid_loader = DataLoader(TensorDataset(corpus[256:]), batch_size=32)
    model = MiniGPT().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        for (tokens,) in train_loader:
            tokens = tokens.to(device)
            logits = model(tokens[:, :-1])
            loss = criterion(logits.reshape(-1, 64), tokens[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for (tokens,) in valid_loader:
                tokens = tokens.to(device)
                val = criterion(model(tokens[:, :-1]).reshape(-1, 64), tokens[:, 1:].reshape(-1))
        print(f"epoch {epoch} train {loss.item():.4f} valid {val.item():.4f}")
    print(model.generate(corpus[:1, :4].to(device), 8).tolist())


if __name__ == "__main__":
    main()
