import math
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
random.seed(0)

PAD, CLS = 0, 1
BUY = ["add_to_cart", "size_guide", "delivery_info", "pay_options", "coupon"]
LEAVE = ["back", "price_sort", "returns_page", "zoom_out", "competitor_tab"]
FILL = ["home", "search", "list_1", "list_2", "list_3", "item", "photo", "review", "filter", "scroll", "login", "help", "blog", "sale"]
event_id = {w: i + 2 for i, w in enumerate(BUY + LEAVE + FILL)}


def make_session():
    label = random.randint(0, 1)
    n = random.randint(6, 40)
    events = [random.choice(FILL) for _ in range(n)]
    for k in random.sample(range(n), 3):
        events[k] = random.choice(BUY if label else LEAVE)
    return [CLS] + [event_id[w] for w in events], label


train = [make_session() for _ in range(800)]
test = [make_session() for _ in range(200)]


def batches(data, bs, shuffle=False):
    data = random.sample(data, len(data)) if shuffle else data
    for i in range(0, len(data), bs):
        part = data[i:i + bs]
        ids = pad_sequence([torch.tensor(d[0]) for d in part], batch_first=True, padding_value=PAD)
        yield ids, torch.tensor([d[1] for d in part])


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(pos * div)
        pe[0, :, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class SessionEncoder(nn.Module):
    def __init__(self, n_events, d_model=32, nhead=4, layers=2):
        super().__init__()
        self.d_model = d_model
        self.embed = nn.Embedding(n_events, d_model, padding_idx=PAD)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.cls = nn.Linear(d_model, 2)

    def forward(self, ids):
        mask = ids != PAD
        x = self.pos(self.embed(ids) * math.sqrt(self.d_model))
        x = self.encoder(x, src_key_padding_mask=mask)
        return self.cls(x[:, 0])


model = SessionEncoder(len(event_id) + 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    total = 0.0
    for ids, labels in batches(train, 40, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(ids), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    model.eval()
    with torch.no_grad():
        hits = sum((model(ids).argmax(1) == labels).sum().item() for ids, labels in batches(test, 50))
    print(f"epoch {epoch + 1}  loss {total / len(train):.3f}  test acc {hits / len(test):.3f}")
