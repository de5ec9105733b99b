import csv
import random
import re
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader

ag_news_label = {1: "World", 2: "Sports", 3: "Business", 4: "Sci/Tec"}
topic_words = {
    1: "minister election army border treaty president peace troops".split(),
    2: "match coach goal season league striker final medal".split(),
    3: "shares profit market bank merger investors oil prices".split(),
    4: "software chip internet satellite researchers browser space phone".split(),
}
filler = "the a on in after says new of over to for two more".split()

random.seed(0)
for fname, n in (("train.csv", 600), ("test.csv", 120)):
    with open(fname, "w", newline="") as f:
        w = csv.writer(f)
        for _ in range(n):
            c = random.randint(1, 4)
            words = [random.choice(topic_words[c] if random.random() < 0.4 else filler)
                     for _ in range(random.randint(6, 20))]
            w.writerow([c, " ".join(words).capitalize() + "."])


def read(fname):
    with open(fname, newline="") as f:
        return [(int(label), text) for label, text in csv.reader(f)]


def tokenizer(text):
    return re.findall(r"[a-z]+", text.lower())


train_iter, test_iter = read("train.csv"), read("test.csv")
counter = Counter(tok for _, text in train_iter for tok in tokenizer(text))
vocab = {"<unk>": 0}
for tok, _ in counter.most_common():
    vocab[tok] = len(vocab)

text_pipeline = lambda x: [vocab.get(tok, vocab["<unk>"]) for tok in tokenizer(x)]
label_pipeline = lambda x: int(x) - 1


def collate_batch(batch):
    label_list, text_list, offsets = [], [], [0]
    for _label, _text in batch:
        label_list.append(label_pipeline(_label))
        processed_text = torch.tensor(text_pipeline(_text), dtype=torch.int64)
        text_list.append(processed_text)
        offsets.append(processed_text.size(0))
    label_list = torch.tensor(label_list, dtype=torch.int64)
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    return label_list, torch.cat(text_list), offsets


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, mode="mean")
        self.fc = nn.Linear(embed_dim, num_class)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def train(dataloader):
    model.train()
    total_acc, total_count = 0, 0
    for label, text, offsets in dataloader:
        optimizer.zero_grad()
        predicted_label = model(text, offsets)
        loss = criterion(predicted_label, label)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        total_acc += (predicted_label.argmax(1) == label).sum().item()
        total_count += label.size(0)
    return total_acc / total_count


def evaluate(dataloader):
    model.eval()
    total_acc, total_count = 0, 0
    with torch.no_grad():
        for label, text, offsets in dataloader:
            total_acc += (model(text, offsets).argmax(1) == label).sum().item()
            total_count += label.size(0)
    return total_acc / total_count


torch.manual_seed(0)
model = TextClassificationModel(len(vocab), 64, len(ag_news_label))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
train_dataloader = DataLoader(train_iter, batch_size=16, shuffle=True, collate_fn=collate_batch)
test_dataloader = DataLoader(test_iter, batch_size=16, collate_fn=collate_batch)
for epoch in range(1, 4):
    print("epoch", epoch, "train acc %.3f" % train(train_dataloader), "test acc %.3f" % evaluate(test_dataloader))
