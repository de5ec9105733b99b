import random
import numpy as np
import torch
import torch.nn as nn


def get_device():
    return torch.device('cuda' if torch.cuda.is_available() else 'cpu')


class SinusoidEncoding(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len
        self.table = self.build_table()

    def build_table(self):
        table = np.zeros((self.max_len, self.d_model))
        pos = np.arange(self.max_len)[:, None]
        div = np.power(10000.0, np.arange(0, self.d_model, 2) / self.d_model)
        table[:, 0::2] = np.sin(pos / div)
        table[:, 1::2] = np.cos(pos / div)
        return torch.from_numpy(table).float().to(get_device())

    def forward(self, x):
        return x + self.table[:x.size(1), :]


class Block(nn.Module):
    def __init__(self, d_model, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attn = nn.MultiheadAttention(d_model, heads, dropout=dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(
            nn.Linear(d_model, 4 * d_model),
            nn.ReLU(),
            nn.Linear(4 * d_model, d_model),
            nn.Dropout(dropout))

    def forward(self, x, causal):
        h = self.norm1(x)
        h, _ = self.attn(h, h, h, attn_mask=causal, need_weights=False)
        x = x + h
        return x + self.ff(self.norm2(x))


class SmallLM(nn.Module):
    def __init__(self, vocab, max_len=64, d_model=64, layers=2, heads=4, dropout=0.1):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.position = SinusoidEncoding(d_model, max_len)
        self.blocks = nn.ModuleList([Block(d_model, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab)

    def forward(self, tokens):
        n = tokens.size(1)
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool, device=tokens.device), diagonal=1)
        x = self.position(self.embed(tokens))
        for block in self.blocks:
            x = block(x, causal)
        return self.head(self.norm(x))


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def train(self, sequences, epochs, batch_size):
        history = []
        for epoch in range(epochs):
            random.shuffle(sequences)
            losses = []
            for i in range(0, len(sequences), batch_size):
                batch = torch.tensor(sequences[i:i + batch_size], dtype=torch.long).to(get_device())
                inp, tgt = batch[:, :-1], batch[:, 1:]
                self.model.train()
                logits = self.model(inp)
                loss = self.criterion(logits.transpose(1, 2), tgt)
                self.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
                self.optimizer.step()
                losses.append(loss.item())
            history.append(np.mean(losses))
            print('epoch', epoch, 'loss', history[-1])
        return history


def make_sequences(text, vocab, length):
    ids = [vocab[c] for c in text]
    return [ids[i:i + length + 1] for i in range(0, len(ids) - length - 1, 3)]


def main():
    random.seed(0)
    torch.manual_seed(0)
    words = ['red', 'green', 'blue', 'bird', 'fish', 'sings', 'swims', 'away']
    text = ' '.join(random.choice(words) for _ in range(300))
    vocab = {c: i for i, c in enumerate(sorted(set(text)))}
    sequences = make_sequences(text, vocab, length=32)

    model = SmallLM(len(vocab)).to(get_device())
    trainer = Trainer(model)
    trainer.train(sequences, epochs=3, batch_size=32)


if __name__ == '__main__':
    main()
