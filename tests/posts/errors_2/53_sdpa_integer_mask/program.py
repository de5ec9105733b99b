import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

torch.manual_seed(0)
VOCAB, DIM, HEADS = 80, 48, 4


def encode(batch):
    """Pads like a tokenizer: input_ids and attention_mask of the longest length."""
    width = max(len(ids) for ids, _ in batch)
    input_ids = torch.zeros(len(batch), width, dtype=torch.long)
    attention_mask = torch.zeros(len(batch), width, dtype=torch.long)
    for row, (ids, _) in enumerate(batch):
        input_ids[row, : len(ids)] = ids
        attention_mask[row, : len(ids)] = 1
    return {"input_ids": input_ids, "attention_mask": attention_mask}, torch.tensor([y for _, y in batch])


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.out = nn.Linear(DIM, DIM)

    def forward(self, x, attention_mask):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        mask = attention_mask[:, None, None, :].expand(b, 1, t, t)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(b, t, DIM))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.attn = SelfAttention()
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, 2)

    def forward(self, input_ids, attention_mask):
        x = self.emb(input_ids)
        x = self.norm(x + self.attn(x, attention_mask))
        return self.head(x[:, 0])


samples = []
for _ in range(320):
    ids = torch.randint(1, VOCAB, (int(torch.randint(5, 20, (1,))),))
    samples.append((ids, int(ids.float().mean() > VOCAB / 2)))
loader = DataLoader(samples, batch_size=32, shuffle=True, collate_fn=encode)

model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(5):
    hits = 0
    for inputs, labels in loader:
        logits = model(**inputs)
        optimizer.zero_grad()
        F.cross_entropy(logits, labels).backward()
        optimizer.step()
        hits += (logits.argmax(1) == labels).sum().item()
    print(f"epoch {epoch} acc {hits / len(samples):.3f}")
