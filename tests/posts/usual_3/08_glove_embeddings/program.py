import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(5)
rng = np.random.default_rng(5)

words = "the a film movie plot actor great boring fun slow brilliant awful nice weak".split()
itos = ["<pad>", "<unk>"] + words + [f"rare{i}" for i in range(30)]
stoi = {w: i for i, w in enumerate(itos)}

# glove.6B.50d.txt in the real script; rare words are not in it
glove = {w: rng.normal(size=50).astype("float32") for w in words}


class TextCNN(nn.Module):
    def __init__(self, vocab, vectors, dim=50, n_filters=32, n_classes=2):
        super().__init__()
        self.embedding = nn.Embedding(len(vocab), dim, padding_idx=0)
        self.load_vectors(vocab, vectors)
        self.convs = nn.ModuleList([nn.Conv1d(dim, n_filters, k) for k in (2, 3, 4)])
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(3 * n_filters, n_classes)

    def load_vectors(self, vocab, vectors):
        found = 0
        for word, i in vocab.items():
            if word in vectors:
                self.embedding.weight[i] = torch.from_numpy(vectors[word])
                found += 1
        print(f"{found} / {len(vocab)} words have a pretrained vector")

    def forward(self, tokens):
        e = self.embedding(tokens).transpose(1, 2)
        pooled = [torch.relu(c(e)).amax(dim=2) for c in self.convs]
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))


tokens = torch.randint(1, len(itos), (256, 20))
tokens[:, 15:] = 0
labels = torch.randint(0, 2, (256,))
loader = DataLoader(TensorDataset(tokens, labels), batch_size=32, shuffle=True)

model = TextCNN(stoi, glove)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    total, correct = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        correct += (logits.argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {total / len(labels):.4f} acc {correct / len(labels):.3f}")
