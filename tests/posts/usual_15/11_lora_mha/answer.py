"""Parameter-efficient tuning of a transformer encoder: LoRA on every Linear of the trunk."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
VOCAB, MAX_LEN, DIM = 120, 24, 64


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))

    @property
    def weight(self):
        return self.base.weight + self.scale * self.lora_b @ self.lora_a

    @property
    def bias(self):
        return self.base.bias

    def forward(self, x):
        return self.base(x) + (x @ self.lora_a.T) @ self.lora_b.T * self.scale


class TicketClassifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, MAX_LEN, DIM) * 0.02)
        layer = nn.TransformerEncoderLayer(DIM, 4, 128, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(DIM, classes)

    def forward(self, ids):
        h = self.tok(ids) + self.pos[:, : ids.size(1)]
        pad = ids == 0
        h = self.encoder(h, src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).float()
        return self.head((h * keep).sum(1) / keep.sum(1))


def inject_lora(module, rank):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, LoRALinear(child, rank))
        else:
            inject_lora(child, rank)


def tickets(n, classes, offset):
    y = torch.randint(0, classes, (n,))
    ids = torch.randint(1, VOCAB, (n, MAX_LEN))
    topic = 1 + offset + y[:, None] * 10 + torch.randint(0, 10, (n, MAX_LEN))
    ids = torch.where(torch.rand(n, MAX_LEN) < 0.4, topic, ids)
    lengths = torch.randint(10, MAX_LEN + 1, (n, 1))
    return ids.masked_fill(torch.arange(MAX_LEN) >= lengths, 0), y


def fit(model, data, epochs, lr):
    params = [p for p in model.parameters() if p.requires_grad]
    print("trainable parameters:", sum(p.numel() for p in params))
    opt = torch.optim.AdamW(params, lr=lr)
    for epoch in range(epochs):
        model.train()
        for ids, y in DataLoader(TensorDataset(*data), batch_size=32, shuffle=True):
            loss = F.cross_entropy(model(ids), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"  epoch {epoch} loss {loss.item():.3f}")


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        return (model(data[0]).argmax(1) == data[1]).float().mean().item()


model = TicketClassifier(classes=5)
fit(model, tickets(640, 5, 0), epochs=3, lr=2e-3)
print("source accuracy", evaluate(model, tickets(200, 5, 0)))

# adapt to the queue of another team
for p in model.parameters():
    p.requires_grad = False
inject_lora(model.encoder, rank=4)
model.head = nn.Linear(DIM, 4)
fit(model, tickets(320, 4, 60), epochs=3, lr=5e-3)
print("target accuracy", evaluate(model, tickets(200, 4, 60)))
