import math
import torch
import torch.nn as nn
import torch.nn.functional as F

# Encoder-only transformer that sorts a sequence of digits (toy task from the course)
SEQ, VOCAB = 10, 10
D_MODEL, HEADS, LAYERS, FF = 64, 4, 2, 128
WARMUP = 60
STEPS = 260


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D_MODEL)
        self.pos = PositionalEncoding(D_MODEL)
        layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, FF, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS)
        self.out = nn.Linear(D_MODEL, VOCAB)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, tokens):
        x = self.embed(tokens) * math.sqrt(D_MODEL)
        return self.out(self.encoder(self.pos(x)))


def rate(step, model_size, factor, warmup):
    """learning rate of "Attention is all you need" """
    step = max(step, 1)
    return factor * (model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5)))


def get_batch(n=64):
    x = torch.randint(0, VOCAB, (n, SEQ))
    return x, x.sort(dim=1).values


def train():
    torch.manual_seed(17)
    model = Sorter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lr_lambda=lambda step: rate(step, D_MODEL, factor=0.4, warmup=WARMUP)
    )
    model.train()
    running = 0.0
    for step in range(1, STEPS + 1):
        x, y = get_batch()
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        running += loss.item()
        if step % 65 == 0:
            print(f"step {step:4d}  loss {running / 65:.3f}")
            running = 0.0
    return model


def test(model, n=500):
    model.eval()
    with torch.no_grad():
        x, y = get_batch(n)
        pred = model(x).argmax(dim=-1)
    print(f"digits right {(pred == y).float().mean():.3f}  rows right {(pred == y).all(dim=1).float().mean():.3f}")
    print(x[0].tolist(), "->", pred[0].tolist())


if __name__ == "__main__":
    test(train())
