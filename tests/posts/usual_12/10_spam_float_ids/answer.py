# Assignment 4 - spam filter with a CNN over words (Kim 2014)
import random
import string

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)

SPAM = "win free prize cash claim urgent call txt offer now reward".split()
HAM = "dinner meeting tomorrow home love later lecture bus sorry ok see".split()
COMMON = "you the to is we at and for in your me my".split()


def fake_sms(is_spam):
    words = random.choices(SPAM if is_spam else HAM, k=4) + random.choices(COMMON, k=random.randint(3, 12))
    random.shuffle(words)
    return " ".join(words).capitalize() + random.choice(string.punctuation[:1] + ".")


labels = [int(random.random() < 0.4) for _ in range(500)]
messages = [fake_sms(l) for l in labels]

# ---- preprocessing -------------------------------------------------------
MAX_LEN = 20
word2idx = {"<PAD>": 0, "<UNK>": 1}


def clean(msg):
    return msg.lower().translate(str.maketrans("", "", string.punctuation)).split()


for m in messages[:400]:
    for w in clean(m):
        if w not in word2idx:
            word2idx[w] = len(word2idx)


def encode(msg):
    ids = [word2idx.get(w, 1) for w in clean(msg)][:MAX_LEN]
    return ids + [0] * (MAX_LEN - len(ids))


X = torch.tensor([encode(m) for m in messages])
Y = torch.tensor(labels)
X_train, Y_train = X[:400], Y[:400]
X_test, Y_test = X[400:], Y[400:]


# ---- model ---------------------------------------------------------------
class TextCNN(nn.Module):
    def __init__(self, vocab_size, emb=32, n_filters=24, sizes=(2, 3, 4)):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, emb, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(emb, n_filters, k) for k in sizes])
        self.fc = nn.Linear(n_filters * len(sizes), 2)

    def forward(self, x):
        e = self.emb(x).transpose(1, 2)
        pooled = [F.relu(conv(e)).max(dim=2).values for conv in self.convs]
        return self.fc(torch.cat(pooled, dim=1))


net = TextCNN(len(word2idx))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# ---- training ------------------------------------------------------------
BATCH = 25
for epoch in range(5):
    net.train()
    perm = torch.randperm(len(X_train))
    total = 0.0
    for i in range(0, len(perm), BATCH):
        idx = perm[i:i + BATCH]
        optimizer.zero_grad()
        loss = F.cross_entropy(net(X_train[idx]), Y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        acc = (net(X_test).argmax(1) == Y_test).float().mean().item()
    print("epoch %d loss %.3f test acc %.2f" % (epoch, total / len(perm), acc))
