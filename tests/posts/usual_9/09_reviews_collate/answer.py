import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader, random_split

# reviews of my family's restaurant, 1 = happy, 0 = not happy
GOOD = ["great food and friendly staff", "loved it", "the pasta was wonderful and cheap",
        "best pizza in town", "we will come back", "tasty", "lovely terrace and great wine"]
BAD = ["cold soup", "the waiter was rude and slow", "never again", "too expensive for what you get",
       "awful", "my pizza was burned and the salad was old", "dirty tables and loud music"]

sentences, targets = [], []
for a in range(len(GOOD)):
    for b in range(len(GOOD)):
        sentences.append(GOOD[a] + " " + GOOD[b])
        targets.append(1)
        sentences.append(BAD[a] + " " + BAD[b])
        targets.append(0)

# build the dictionary, 0 is reserved
word_to_ix = {"<pad>": 0}
for s in sentences:
    for w in s.split():
        if w not in word_to_ix:
            word_to_ix[w] = len(word_to_ix)


class ReviewDataset(Dataset):
    def __init__(self, sentences, targets):
        self.sentences = sentences
        self.targets = targets

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        ids = [word_to_ix[w] for w in self.sentences[index].split()]
        x = torch.tensor(ids, dtype=torch.long)
        y = torch.tensor(self.targets[index], dtype=torch.float)
        return x, y


def collate(batch):
    xs, ys = zip(*batch)
    return nn.utils.rnn.pad_sequence(xs, batch_first=True, padding_value=0), torch.stack(ys)


class ReviewGRU(nn.Module):
    def __init__(self, vocab_size, emb_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_size, padding_idx=0)
        self.gru = nn.GRU(emb_size, hidden_size, batch_first=True)
        self.linear = nn.Linear(hidden_size, 1)

    def forward(self, x):
        mask = (x != 0).unsqueeze(-1).float()
        out, _ = self.gru(self.embedding(x))
        mean = (out * mask).sum(1) / mask.sum(1)
        return self.linear(mean).squeeze(1)


torch.manual_seed(3)
dataset = ReviewDataset(sentences, targets)
train_set, test_set = random_split(dataset, [78, 20])
train_loader = DataLoader(train_set, batch_size=8, shuffle=True, collate_fn=collate)
test_loader = DataLoader(test_set, batch_size=8, collate_fn=collate)

net = ReviewGRU(len(word_to_ix), 24, 32)
loss_function = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)

for epoch in range(5):
    net.train()
    epoch_loss = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_function(net(x), y)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(y)
    print("Epoch", epoch, "Loss", epoch_loss / len(train_set))

net.eval()
good = 0
with torch.no_grad():
    for x, y in test_loader:
        good += ((net(x) > 0).float() == y).sum().item()
print("Accuracy", good / len(test_set))
