import random
import torch
import torch.nn as nn
import torch.optim as optim


class RNN(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim, n_layers, bidirectional, dropout, pad_idx):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=pad_idx)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim, num_layers=n_layers,
                           bidirectional=bidirectional, dropout=dropout)
        self.fc = nn.Linear(hidden_dim * 2, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text, text_lengths):
        embedded = self.dropout(self.embedding(text))
        packed_embedded = nn.utils.rnn.pack_padded_sequence(embedded, text_lengths)
        packed_output, (hidden, cell) = self.rnn(packed_embedded)
        # hidden = [num layers * num directions, batch size, hid dim]
        hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))
        return self.fc(hidden.squeeze(0))


class BucketIterator:
    """batches of reviews of similar length, the longest first"""

    def __init__(self, examples, batch_size, pad_idx):
        self.examples = sorted(examples, key=lambda e: len(e[0]))
        self.batch_size, self.pad_idx = batch_size, pad_idx

    def __len__(self):
        return (len(self.examples) + self.batch_size - 1) // self.batch_size

    def __iter__(self):
        for i in range(0, len(self.examples), self.batch_size):
            chunk = sorted(self.examples[i:i + self.batch_size], key=lambda e: -len(e[0]))
            lengths = torch.tensor([len(e[0]) for e in chunk])
            text = nn.utils.rnn.pad_sequence([torch.tensor(e[0]) for e in chunk], padding_value=self.pad_idx)
            yield text, lengths, torch.tensor([e[1] for e in chunk])


def binary_accuracy(preds, y):
    return (torch.round(torch.sigmoid(preds)) == y).float().mean()


def train(model, iterator, optimizer, criterion):
    epoch_loss, epoch_acc = 0, 0
    model.train()
    for text, text_lengths, label in iterator:
        optimizer.zero_grad()
        predictions = model(text, text_lengths).squeeze(1)
        loss = criterion(predictions, label)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += binary_accuracy(predictions, label).item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)


random.seed(1234)
torch.manual_seed(1234)
VOCAB, PAD_IDX, BATCH_SIZE = 400, 1, 16
reviews = []
for _ in range(65):
    label = random.random() < 0.5
    low = 2 if label else VOCAB // 3
    reviews.append(([random.randrange(low, low + VOCAB // 2) for _ in range(random.randint(6, 30))], float(label)))

train_iterator = BucketIterator(reviews, BATCH_SIZE, PAD_IDX)
model = RNN(VOCAB, 50, 64, 1, 2, True, 0.5, PAD_IDX)
optimizer = optim.Adam(model.parameters())
criterion = nn.BCEWithLogitsLoss()
for epoch in range(2):
    train_loss, train_acc = train(model, train_iterator, optimizer, criterion)
    print(f'Epoch: {epoch + 1:02} | Train Loss: {train_loss:.3f} | Train Acc: {train_acc * 100:.2f}%')
