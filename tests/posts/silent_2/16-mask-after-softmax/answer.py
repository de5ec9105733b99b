import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CharDataset(Dataset):
    def __init__(self, ids, block_size):
        self.ids, self.block_size = ids, block_size

    def __len__(self):
        return (len(self.ids) - 1) // self.block_size

    def __getitem__(self, i):
        start = i * self.block_size
        chunk = self.ids[start:start + self.block_size + 1]
        return chunk[:-1], chunk[1:]


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        return wei @ v


class BigramPlus(nn.Module):
    def __init__(self, vocab_size, n_embd=32, n_head=4, block_size=16):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.heads = nn.ModuleList(
            [Head(n_embd, n_embd // n_head, block_size) for _ in range(n_head)]
        )
        self.ffwd = nn.Sequential(nn.LayerNorm(n_embd), nn.Linear(n_embd, 4 * n_embd), nn.ReLU(),
                                  nn.Linear(4 * n_embd, n_embd))
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        T = idx.size(1)
        x = self.tok(idx) + self.pos(torch.arange(T, device=idx.device))
        x = x + torch.cat([h(x) for h in self.heads], dim=-1)
        logits = self.lm_head(x + self.ffwd(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


torch.manual_seed(1337)
device = "cuda" if torch.cuda.is_available() else "cpu"
VOCAB = 30
stream = torch.cumsum(torch.randint(1, 4, (8001,)), 0) % VOCAB
train_loader = DataLoader(CharDataset(stream[:7001], 16), batch_size=32, shuffle=True)
val_loader = DataLoader(CharDataset(stream[7000:], 16), batch_size=32)
model = BigramPlus(VOCAB).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    for xb, yb in train_loader:
        _, loss = model(xb.to(device), yb.to(device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = [model(xb.to(device), yb.to(device))[1].item() for xb, yb in val_loader]
    print(f"epoch {epoch}: train {loss.item():.4f} val {sum(val) / len(val):.4f}")
