import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0


class IntentModel(nn.Module):
    def __init__(self, vocab=100, dim=32, intents=3):
        super().__init__()
        self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, intents)

    def forward(self, tokens):
        x = torch.cat([self.cls.expand(len(tokens), -1, -1), self.embed(tokens)], dim=1)
        mask = tokens == PAD
        mask = nn.functional.pad(mask, (1, 0), value=False)
        x = self.encoder(x, src_key_padding_mask=mask)
        return self.head(x[:, 0])


def sample():
    label = int(torch.randint(0, 3, (1,)))
    words = torch.randint(10, 100, (int(torch.randint(4, 15, (1,))),))
    words[torch.randint(0, len(words), (1,))] = label + 1
    return words, label


def collate(items):
    words, labels = zip(*items)
    return pad_sequence(words, batch_first=True, padding_value=PAD), torch.tensor(labels)


train = DataLoader([sample() for _ in range(2000)], batch_size=64, shuffle=True, collate_fn=collate)
val = DataLoader([sample() for _ in range(300)], batch_size=64, collate_fn=collate)
model = IntentModel()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for tokens, labels in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens), labels)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(t).argmax(1) == y).sum().item() for t, y in val)
    print(f"epoch {epoch} val acc {hits / 300:.3f}")
