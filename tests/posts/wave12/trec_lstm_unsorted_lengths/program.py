import random
import time
import torch
import torch.nn as nn
import torch.optim as optim

SEED = 1234
BATCH_SIZE = 32
LABELS = ['HUM', 'ENTY', 'DESC', 'NUM', 'LOC', 'ABBR']
random.seed(SEED)
torch.manual_seed(SEED)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def make_questions(n):
    openers = {'HUM': 'who was', 'ENTY': 'what animal', 'DESC': 'why does', 'NUM': 'how many',
               'LOC': 'where is', 'ABBR': 'what stands for'}
    fillers = ['the', 'first', 'city', 'man', 'of', 'a', 'river', 'year', 'in', 'world', 'called', 'made']
    data = []
    for _ in range(n):
        label = random.choice(LABELS)
        words = openers[label].split() + [random.choice(fillers) for _ in range(random.randint(1, 10))]
        data.append((words, label))
    return data


class Vocab:
    def __init__(self, data):
        self.itos = ['<unk>', '<pad>'] + sorted({w for words, _ in data for w in words})
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)


class Iterator:
    """batches of padded text with lengths, and labels"""

    def __init__(self, data, vocab, batch_size, shuffle):
        self.data = data
        self.vocab = vocab
        self.batch_size = batch_size
        self.shuffle = shuffle

    def __len__(self):
        return (len(self.data) + self.batch_size - 1) // self.batch_size

    def __iter__(self):
        order = list(range(len(self.data)))
        if self.shuffle:
            random.shuffle(order)
        for i in range(0, len(order), self.batch_size):
            batch = [self.data[j] for j in order[i:i + self.batch_size]]
            lengths = torch.tensor([len(words) for words, _ in batch])
            text = torch.full((int(lengths.max()), len(batch)), self.vocab.stoi['<pad>'])
            for j, (words, _) in enumerate(batch):
                text[:len(words), j] = torch.tensor([self.vocab.stoi.get(w, 0) for w in words])
            labels = torch.tensor([LABELS.index(label) for _, label in batch])
            yield (text.to(device), lengths), labels.to(device)


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
        hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))
        return self.fc(hidden)


def categorical_accuracy(preds, y):
    return (preds.argmax(dim=1) == y).float().mean()


def run(model, iterator, criterion, optimizer=None):
    model.train(optimizer is not None)
    epoch_loss, epoch_acc = 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for (text, text_lengths), label in iterator:
            predictions = model(text, text_lengths)
            loss = criterion(predictions, label)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            epoch_loss += loss.item()
            epoch_acc += categorical_accuracy(predictions, label).item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)


train_data, valid_data = make_questions(640), make_questions(128)
vocab = Vocab(train_data)
train_iterator = Iterator(train_data, vocab, BATCH_SIZE, shuffle=True)
valid_iterator = Iterator(valid_data, vocab, BATCH_SIZE, shuffle=False)

model = RNN(len(vocab), 50, 64, len(LABELS), 2, True, 0.5, vocab.stoi['<pad>']).to(device)
optimizer = optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss().to(device)

for epoch in range(3):
    start_time = time.time()
    train_loss, train_acc = run(model, train_iterator, criterion, optimizer)
    valid_loss, valid_acc = run(model, valid_iterator, criterion)
    print(f'Epoch: {epoch+1:02} | Time: {time.time() - start_time:.1f}s')
    print(f'\tTrain Loss: {train_loss:.3f} | Train Acc: {train_acc*100:.2f}%')
    print(f'\t Val. Loss: {valid_loss:.3f} |  Val. Acc: {valid_acc*100:.2f}%')
