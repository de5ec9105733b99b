import random
import time

import torch
import torch.nn as nn
import torch.optim as optim
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

SEED = 1234
random.seed(SEED)
torch.manual_seed(SEED)

WORDS = {
    'DET': ['the', 'a', 'this', 'every'],
    'ADJ': ['small', 'red', 'quick', 'old', 'happy'],
    'NOUN': ['dog', 'house', 'river', 'teacher', 'car', 'idea'],
    'VERB': ['sees', 'likes', 'builds', 'finds'],
    'ADV': ['often', 'quickly', 'never'],
}
TAGS = ['<pad>'] + sorted(WORDS)
VOCAB = ['<pad>'] + sorted(w for ws in WORDS.values() for w in ws)
TAG_PAD_IDX = 0
PATTERNS = [
    ['DET', 'NOUN', 'VERB', 'DET', 'NOUN'],
    ['DET', 'ADJ', 'NOUN', 'ADV', 'VERB', 'DET', 'NOUN'],
    ['DET', 'ADJ', 'ADJ', 'NOUN', 'VERB', 'DET', 'ADJ', 'NOUN', 'ADV'],
]


class TaggedSentences(Dataset):
    def __init__(self, n):
        self.data = []
        for _ in range(n):
            tags = random.choice(PATTERNS)
            words = [random.choice(WORDS[t]) for t in tags]
            self.data.append((torch.tensor([VOCAB.index(w) for w in words]),
                              torch.tensor([TAGS.index(t) for t in tags])))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def collate(batch):
    text, tags = zip(*batch)
    return pad_sequence(text), pad_sequence(tags)


class BiLSTMPOSTagger(nn.Module):
    def __init__(self, input_dim, embedding_dim, hidden_dim, output_dim, dropout):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, embedding_dim, padding_idx=0)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, num_layers=1, bidirectional=True)
        self.fc = nn.Linear(hidden_dim * 2, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text):
        embedded = self.dropout(self.embedding(text))
        outputs, _ = self.lstm(embedded)
        return self.fc(self.dropout(outputs))


def tag_accuracy(scores, gold, pad_index):
    keep = gold != pad_index
    hits = (scores.argmax(dim=1)[keep] == gold[keep]).sum()
    return hits / torch.FloatTensor([keep.sum().item()])


def run_epoch(model, iterator, criterion, device, optimizer=None):
    model.train(optimizer is not None)
    epoch_loss, epoch_acc = 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for text, tags in iterator:
            text, tags = text.to(device), tags.to(device).view(-1)
            predictions = model(text)
            predictions = predictions.view(-1, predictions.shape[-1])
            loss = criterion(predictions, tags)
            acc = tag_accuracy(predictions, tags, TAG_PAD_IDX)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            epoch_loss += loss.item()
            epoch_acc += acc.item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)


def main():
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    train_iterator = DataLoader(TaggedSentences(800), batch_size=64, shuffle=True, collate_fn=collate)
    valid_iterator = DataLoader(TaggedSentences(200), batch_size=64, collate_fn=collate)
    model = BiLSTMPOSTagger(len(VOCAB), 50, 64, len(TAGS), 0.25).to(device)
    optimizer = optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss(ignore_index=TAG_PAD_IDX).to(device)
    for epoch in range(4):
        start = time.time()
        train_loss, train_acc = run_epoch(model, train_iterator, criterion, device, optimizer)
        valid_loss, valid_acc = run_epoch(model, valid_iterator, criterion, device)
        print(f'Epoch {epoch + 1:02} | {time.time() - start:.1f}s | train {train_loss:.3f} {train_acc:.2%} | valid {valid_loss:.3f} {valid_acc:.2%}')


if __name__ == '__main__':
    main()
