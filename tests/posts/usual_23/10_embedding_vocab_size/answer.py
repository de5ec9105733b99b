from collections import Counter

import torch
import torch.nn as nn

corpus = [
    "turn on the kitchen lights",
    "turn off the bedroom lights",
    "play some jazz in the living room",
    "stop the music",
    "what is the weather tomorrow",
    "will it rain in paris on friday",
    "set an alarm for seven",
    "wake me up at six thirty",
]
intents = ["light", "light", "music", "music", "weather", "weather", "alarm", "alarm"]
max_len = 8

# vocabulary
counter = Counter(word for line in corpus for word in line.split())
word2idx = {word: i + 2 for i, (word, _) in enumerate(counter.most_common())}
PAD, UNK = 0, 1
vocab_size = len(counter) + 2

labels = sorted(set(intents))
label2idx = {name: i for i, name in enumerate(labels)}


def encode(line):
    ids = [word2idx.get(w, UNK) for w in line.lower().split()][:max_len]
    return ids + [PAD] * (max_len - len(ids))


X = torch.tensor([encode(line) for line in corpus])
y = torch.tensor([label2idx[name] for name in intents])


class IntentModel(nn.Module):
    def __init__(self, vocab_size, num_classes, dim=48, channels=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.conv = nn.Conv1d(dim, channels, kernel_size=3, padding=1)
        self.classifier = nn.Linear(channels, num_classes)

    def forward(self, ids):
        h = self.embedding(ids).transpose(1, 2)
        h = torch.relu(self.conv(h))
        return self.classifier(h.max(dim=2).values)


torch.manual_seed(0)
model = IntentModel(vocab_size, len(labels))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()

for epoch in range(1, 31):
    model.train()
    optimizer.zero_grad()
    loss = criterion(model(X), y)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print("epoch", epoch, "loss", round(loss.item(), 4))

model.eval()
with torch.no_grad():
    query = torch.tensor([encode("play the music")])
    print(labels[model(query).argmax(1).item()])
