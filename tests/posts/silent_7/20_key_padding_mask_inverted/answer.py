import torch
import torch.nn as nn
from torch.utils.data import DataLoader

PAD, CLS = 0, 1
VOCAB = 50
MAX_LEN = 20


def comments(n, seed):
    g = torch.Generator().manual_seed(seed)
    tone = torch.randn(VOCAB, generator=torch.Generator().manual_seed(6))
    tone[:2] = 0
    data = []
    for _ in range(n):
        length = int(torch.randint(5, MAX_LEN - 2, (1,), generator=g))
        words = torch.randint(2, VOCAB, (length,), generator=g)
        data.append((torch.cat([torch.tensor([CLS]), words]), int(tone[words].mean() > tone[2:].mean())))
    return data


def collate(batch):
    tokens = torch.full((len(batch), MAX_LEN), PAD)
    for row, (words, _) in enumerate(batch):
        tokens[row, :len(words)] = words
    return tokens, torch.tensor([label for _, label in batch])


class CommentClassifier(nn.Module):
    def __init__(self, d_model=32, heads=4, layers=2):
        super().__init__()
        self.token = nn.Embedding(VOCAB, d_model)
        self.position = nn.Parameter(0.02 * torch.randn(1, MAX_LEN, d_model))
        layer = nn.TransformerEncoderLayer(d_model, heads, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, 2)

    def forward(self, tokens):
        mask = tokens == PAD
        h = self.token(tokens) + self.position
        h = self.encoder(h, src_key_padding_mask=mask)
        return self.head(h[:, 0])


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for tokens, labels in loader:
            right += (model(tokens).argmax(dim=1) == labels).sum().item()
            total += len(labels)
    return right / total


torch.manual_seed(0)
train_loader = DataLoader(comments(1500, 0), batch_size=50, shuffle=True, collate_fn=collate)
valid_loader = DataLoader(comments(400, 1), batch_size=100, collate_fn=collate)

model = CommentClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    model.train()
    epoch_loss = 0.0
    for tokens, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item()
    print(f"epoch {epoch + 1}  loss {epoch_loss / len(train_loader):.3f}  valid acc {accuracy(model, valid_loader):.3f}")
