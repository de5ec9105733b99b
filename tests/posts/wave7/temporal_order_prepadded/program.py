import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

SYMBOLS = ['B', 'E', 'X', 'Y', 'a', 'b', 'c', 'd']
CLASSES = {('X', 'X'): 0, ('X', 'Y'): 1, ('Y', 'X'): 2, ('Y', 'Y'): 3}


class TemporalOrder:
    """which of X and Y comes first and second among noise symbols?"""

    def __init__(self, length_range=(7, 20), t1_range=(1, 3), t2_range=(4, 5), batch_size=32, n_batches=25, seed=1):
        self.rng = np.random.RandomState(seed)
        self.length_range, self.t1_range, self.t2_range = length_range, t1_range, t2_range
        self.batch_size, self.n_batches = batch_size, n_batches
        self.n_symbols, self.n_classes = len(SYMBOLS), len(CLASSES)

    def generate_pair(self):
        length = self.rng.randint(self.length_range[0], self.length_range[1] + 1)
        x = list(self.rng.choice(['a', 'b', 'c', 'd'], length))
        x[0], x[-1] = 'B', 'E'
        first, second = self.rng.choice(['X', 'Y'], 2)
        x[self.rng.randint(self.t1_range[0], self.t1_range[1] + 1)] = first
        x[self.rng.randint(self.t2_range[0], self.t2_range[1] + 1)] = second
        return x, CLASSES[(first, second)]

    def pad_sequences(self, sequences, maxlen):
        padded = np.zeros((len(sequences), maxlen, self.n_symbols), dtype=np.float32)
        for i, s in enumerate(sequences):
            for j, symbol in enumerate(s):
                padded[i, maxlen - len(s) + j, SYMBOLS.index(symbol)] = 1
        return padded

    def __len__(self):
        return self.n_batches

    def __iter__(self):
        for _ in range(self.n_batches):
            pairs = [self.generate_pair() for _ in range(self.batch_size)]
            data = self.pad_sequences([x for x, _ in pairs], self.length_range[1])
            lengths = [len(x) for x, _ in pairs]
            yield torch.from_numpy(data), torch.tensor([y for _, y in pairs]), torch.tensor(lengths)


class SimpleLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, batch_first=True)
        self.linear = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        h = self.lstm(x)[0]
        return self.linear(h)


def train(model, generator, criterion, optimizer):
    model.train()
    num_correct = 0
    for data, target, lengths in generator:
        output = model(data)
        output = output[torch.arange(len(lengths)), lengths - 1]
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        num_correct += (output.argmax(dim=1) == target).sum().item()
    return num_correct, loss.item()


def test(model, generator, criterion):
    model.eval()
    num_correct = 0
    with torch.no_grad():
        for data, target, lengths in generator:
            output = model(data)
            output = output[torch.arange(len(lengths)), lengths - 1]
            num_correct += (output.argmax(dim=1) == target).sum().item()
    return num_correct


torch.manual_seed(1)
train_gen = TemporalOrder()
test_gen = TemporalOrder(n_batches=10, seed=2)
model = SimpleLSTM(train_gen.n_symbols, 16, train_gen.n_classes)
criterion = nn.CrossEntropyLoss()
optimizer = optim.RMSprop(model.parameters(), lr=0.005)
for epoch in range(5):
    num_correct, loss = train(model, train_gen, criterion, optimizer)
    print(f'[Epoch {epoch + 1}/5] loss: {loss:.4f}, acc: {num_correct / (len(train_gen) * 32) * 100:2.2f}')
print('test acc: %2.2f' % (test(model, test_gen, criterion) / (len(test_gen) * 32) * 100))
