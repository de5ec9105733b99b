import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, EMB, MAXLEN = 200, 24, 16


class SentencePairNet(nn.Module):
    def __init__(self):
        super(SentencePairNet, self).__init__()
        self.embed = nn.Embedding(VOCAB, EMB)
        self.conv = nn.Conv1d(EMB, 32, kernel_size=3, padding=1)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, 2)

    def encode(self, sentence):
        x = self.embed(sentence).t().unsqueeze(0)
        x = F.relu(self.conv(x))
        return x.max(dim=2)[0]

    def forward(self, first, second):
        x = torch.cat([self.encode(first), self.encode(second)], dim=1)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return x.view(-1)


def make_pairs(n):
    pairs = []
    for _ in range(n):
        first = torch.randint(0, VOCAB, (MAXLEN,))
        same = torch.rand(1).item() > 0.5
        second = first.clone() if same else torch.randint(0, VOCAB, (MAXLEN,))
        label = torch.LongTensor([0, 1]) if same else torch.LongTensor([1, 0])
        pairs.append((first, second, label))
    return pairs


net = SentencePairNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
train_pairs, test_pairs = make_pairs(60), make_pairs(20)

for epoch in range(3):
    total = 0.0
    for first, second, label in train_pairs:
        optimizer.zero_grad()
        outputs = net(first, second)
        loss = criterion(outputs, label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, "loss", total / len(train_pairs))

correct = 0
with torch.no_grad():
    for first, second, label in test_pairs:
        outputs = net(first, second)
        correct += int(outputs.argmax() == label.argmax())
print("accuracy", correct / len(test_pairs))
