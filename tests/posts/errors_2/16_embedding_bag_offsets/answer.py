import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(2)

TOPICS = 4
vocab = {"<pad>": 0}
for i in range(1, 120):
    vocab[f"w{i}"] = i

news = []
for _ in range(300):
    topic = int(torch.randint(0, TOPICS, (1,)))
    n = int(torch.randint(6, 20, (1,)))
    words = torch.randint(1 + topic * 25, 40 + topic * 25, (n,)).clamp(max=119)
    news.append((topic, [f"w{int(w)}" for w in words]))


def collate_batch(batch):
    labels, texts, offsets = [], [], [0]
    for topic, words in batch:
        labels.append(topic)
        ids = torch.tensor([vocab[w] for w in words])
        texts.append(ids)
        offsets.append(len(ids))
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    texts = torch.cat(texts)
    return torch.tensor(labels), texts, offsets


class TextClassifier(nn.Module):
    def __init__(self, vocab_size, dim, classes):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, dim)
        self.fc = nn.Linear(dim, classes)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


loader = DataLoader(news, batch_size=25, shuffle=True, collate_fn=collate_batch)
model = TextClassifier(len(vocab), 32, TOPICS)
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    correct, seen = 0, 0
    for labels, texts, offsets in loader:
        optimizer.zero_grad()
        out = model(texts, offsets)
        criterion(out, labels).backward()
        optimizer.step()
        correct += (out.argmax(1) == labels).sum().item()
        seen += len(labels)
    print(f"epoch {epoch} accuracy {correct / seen:.3f}")
