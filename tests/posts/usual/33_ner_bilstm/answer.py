import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
VOCAB_SIZE = 300
PAD_TAG = -100


class NERDataset(Dataset):
    def __init__(self, n=120):
        self.items = []
        for _ in range(n):
            length = int(torch.randint(5, 21, (1,)))
            words = torch.randint(1, VOCAB_SIZE, (length,))
            tags = torch.randint(0, len(TAGS), (length,))
            self.items.append((words, tags))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, tags = zip(*batch)
    words = pad_sequence(words, batch_first=True, padding_value=0)
    tags = pad_sequence(tags, batch_first=True, padding_value=PAD_TAG)
    return words, tags


class BiLSTMTagger(nn.Module):
    def __init__(self, vocab_size, n_tags, emb_dim=50, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=0)
        self.lstm = nn.LSTM(emb_dim, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.hidden2tag = nn.Linear(2 * hidden, n_tags)

    def forward(self, x):
        x = self.embedding(x)
        out, _ = self.lstm(x)
        return self.hidden2tag(self.dropout(out))


loader = DataLoader(NERDataset(), batch_size=16, shuffle=True, collate_fn=collate)
model = BiLSTMTagger(VOCAB_SIZE, len(TAGS))
loss_function = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(3):
    total_loss, correct, count = 0.0, 0, 0
    for words, tags in loader:
        model.zero_grad()
        tag_scores = model(words)
        loss = loss_function(tag_scores.transpose(1, 2), tags)
        loss.backward()
        optimizer.step()

        total_loss += loss.item()
        mask = tags != PAD_TAG
        correct += (tag_scores.argmax(-1)[mask] == tags[mask]).sum().item()
        count += mask.sum().item()
    print(f"Epoch {epoch}: loss {total_loss / len(loader):.4f}, token accuracy {correct / count:.4f}")
