import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset

MAX_LEN = 24
PAD_TOKEN = 0
PAD_LABEL = -100
VOCAB = 80
SLOTS = ["O", "B-city", "I-city", "B-date", "I-date"]


class Utterances(Dataset):
    """Utterances with one slot label per word, filled up to MAX_LEN."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(count):
            n = int(torch.randint(3, MAX_LEN - 4, (1,), generator=g))
            words = torch.randint(1, VOCAB, (n,), generator=g)
            slots = words % len(SLOTS)
            text = torch.full((MAX_LEN,), PAD_TOKEN)
            label = torch.full((MAX_LEN,), PAD_LABEL)
            text[:n] = words
            label[:n] = slots
            self.rows.append((text, label, n))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class SlotTagger(nn.Module):
    def __init__(self, vocab_size, num_slots, embedding_dim=32, hidden_dim=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=PAD_TOKEN)
        self.dropout = nn.Dropout(0.1)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.slot_out = nn.Linear(2 * hidden_dim, num_slots)

    def forward(self, text, lengths):
        embedded = self.dropout(self.embedding(text))
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed_output, _ = self.lstm(packed)
        output, _ = pad_packed_sequence(packed_output, batch_first=True, total_length=text.size(1))
        return self.slot_out(output)


def slot_loss(logits, labels):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=PAD_LABEL)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    right, count = 0, 0
    for text, labels, lengths in loader:
        text, labels = text.to(device), labels.to(device)
        best = model(text, lengths).argmax(dim=-1)
        keep = labels != PAD_LABEL
        right += (best[keep] == labels[keep]).sum().item()
        count += keep.sum().item()
    return right / count


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(Utterances(256, seed=0), batch_size=16, shuffle=True)
    dev_loader = DataLoader(Utterances(64, seed=1), batch_size=16)
    model = SlotTagger(VOCAB, len(SLOTS)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        model.train()
        running = 0.0
        for text, labels, lengths in train_loader:
            text, labels = text.to(device), labels.to(device)
            logits = model(text, lengths)
            loss = slot_loss(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        accuracy = evaluate(model, dev_loader, device)
        print("epoch %d loss %.3f slot acc %.3f" % (epoch + 1, running / len(train_loader), accuracy))


if __name__ == "__main__":
    main()
