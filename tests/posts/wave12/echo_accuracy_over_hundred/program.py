import numpy as np
import torch
import torch.nn as nn

batch_size = 100
echo_step = 3
series_length = 4000
BPTT_T = 20


class EchoData:
    """a random bit series and the same series some steps later, cut into chunks"""

    def __init__(self, series_length, batch_size, echo_step, truncated_length, seed):
        self.rng = np.random.RandomState(seed)
        self.series_length = series_length
        self.batch_size = batch_size
        self.echo_step = echo_step
        self.truncated_length = truncated_length
        self.n_chunks = series_length // truncated_length
        self.generate_new_series()

    def generate_new_series(self):
        x = self.rng.choice(2, size=(self.batch_size, self.series_length), p=[0.5, 0.5])
        y = np.roll(x, self.echo_step, axis=1)
        y[:, :self.echo_step] = 0
        cut = (self.batch_size, self.n_chunks, self.truncated_length, 1)
        self.x = torch.from_numpy(x.reshape(cut).transpose(1, 0, 2, 3).astype(np.float32))
        self.y = torch.from_numpy(y.reshape(cut).transpose(1, 0, 2, 3).astype(np.float32))

    def __len__(self):
        return self.n_chunks

    def __getitem__(self, index):
        if index >= self.n_chunks:
            raise IndexError(index)
        return self.x[index], self.y[index]


class EchoRNN(nn.Module):
    def __init__(self, input_size=1, hidden_size=6, output_size=1):
        super().__init__()
        self.hidden_size = hidden_size
        self.rnn = nn.RNN(input_size, hidden_size, num_layers=1, nonlinearity='relu', batch_first=True)
        self.linear = nn.Linear(hidden_size, output_size)

    def forward(self, x, hidden):
        out, hidden = self.rnn(x, hidden)
        return self.linear(out), hidden


torch.manual_seed(2)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
train_data = EchoData(series_length, batch_size, echo_step, BPTT_T, seed=0)
test_data = EchoData(series_length, batch_size, echo_step, BPTT_T, seed=1)
train_size = len(train_data)
test_size = len(test_data)

model = EchoRNN().to(device)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.005)


def train(hidden):
    model.train()
    correct = 0
    for data, target in train_data:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        if hidden is not None:
            hidden = hidden.detach()
        logits, hidden = model(data, hidden)
        loss = criterion(logits, target)
        loss.backward()
        optimizer.step()
        pred = (torch.sigmoid(logits) > 0.5)
        correct += (pred == target.bool()).int().sum().item()
    return correct, loss.item(), hidden


def test(hidden):
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in test_data:
            data, target = data.to(device), target.to(device)
            logits, hidden = model(data, hidden)
            pred = (torch.sigmoid(logits) > 0.5)
            correct += (pred == target.bool()).int().sum().item()
    return correct


n_epochs = 5
hidden = None
for epoch in range(1, n_epochs + 1):
    correct, loss, hidden = train(hidden)
    train_accuracy = float(correct) / train_size
    print(f'Train Epoch: {epoch}/{n_epochs}, loss: {loss:.3f}, accuracy {train_accuracy:.1f}%')

correct = test(None)
test_accuracy = float(correct) / test_size
print(f'Test accuracy: {test_accuracy:.1f}%')
