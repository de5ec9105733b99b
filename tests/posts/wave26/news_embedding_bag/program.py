import torch
import torch.nn as nn
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

VOCAB_SIZE = 400
EMBED_DIM = 32
NUM_CLASS = 4
BATCH_SIZE = 16
N_EPOCHS = 4


class TextSentiment(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim)
        self.fc = nn.Linear(embed_dim, num_class)
        self.embedding.weight.data.uniform_(-0.5, 0.5)
        self.fc.weight.data.uniform_(-0.5, 0.5)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def make_news(count):
    news = []
    for _ in range(count):
        label = torch.randint(0, NUM_CLASS, (1,)).item()
        length = torch.randint(8, 25, (1,)).item()
        common = torch.randint(0, VOCAB_SIZE, (length,))
        topic = torch.randint(label * 100, label * 100 + 100, (length // 2,))
        news.append((label, torch.cat([common, topic])))
    return news


def generate_batch(batch):
    label = torch.tensor([entry[0] for entry in batch])
    text = [entry[1] for entry in batch]
    offsets = torch.tensor([0] + [len(entry) for entry in text[:-1]]).cumsum(dim=0)
    return torch.cat(text), offsets, label


def train_func(sub_train):
    train_loss, train_acc = 0.0, 0
    data = DataLoader(sub_train, batch_size=BATCH_SIZE, shuffle=True, collate_fn=generate_batch)
    model.train()
    for text, offsets, cls in data:
        optimizer.zero_grad()
        text, offsets, cls = text.to(device), offsets.to(device), cls.to(device)
        output = model(text, offsets)
        loss = criterion(output, cls)
        train_loss += loss.item() * len(cls)
        loss.backward()
        optimizer.step()
        train_acc += (output.argmax(1) == cls).sum().item()
    return train_loss / len(sub_train), train_acc / len(sub_train)


def test(data_):
    total_loss = 0.0
    acc = 0
    data = DataLoader(data_, batch_size=BATCH_SIZE, collate_fn=generate_batch)
    model.eval()
    for text, offsets, cls in data:
        text, offsets, cls = text.to(device), offsets.to(device), cls.to(device)
        with torch.no_grad():
            output = model(text, offsets)
            total_loss = criterion(output, cls)
            total_loss += total_loss.item() * len(cls)
            acc += (output.argmax(1) == cls).sum().item()
    return total_loss / len(data_), acc / len(data_)


torch.manual_seed(0)
train_data, valid_data = make_news(600), make_news(200)
model = TextSentiment(VOCAB_SIZE, EMBED_DIM, NUM_CLASS).to(device)
criterion = nn.CrossEntropyLoss().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(N_EPOCHS):
    train_loss, train_acc = train_func(train_data)
    valid_loss, valid_acc = test(valid_data)
    print(f"Epoch {epoch + 1}: train loss {train_loss:.4f} acc {train_acc * 100:.1f}% | valid loss {valid_loss:.4f} acc {valid_acc * 100:.1f}%")
