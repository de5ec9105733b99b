import torch
import torch.nn as nn

torch.manual_seed(777)

idx2char = ["h", "i", "e", "l", "o"]
words = ["hello", "eolll", "lleel"]
x_data = torch.tensor([[idx2char.index(c) for c in w] for w in words])
one_hot = torch.eye(len(idx2char))

input_size = len(idx2char)
hidden_size = 8
num_layers = 1
batch_size = len(words)
sequence_length = 5


class CharRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, input_size)

    def init_hidden(self, batch):
        return torch.zeros(num_layers, batch, hidden_size)

    def forward(self, x, hidden):
        # x: (batch, seq, input_size)
        out, hidden = self.rnn(x, hidden)
        return self.fc(out), hidden


def decode(logits):
    return ["".join(idx2char[i] for i in row) for row in logits.argmax(dim=2).tolist()]


model = CharRNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

inputs = one_hot[x_data[:, :-1]]
targets = x_data[:, 1:]
print("input size", inputs.size())

for epoch in range(60):
    hidden = model.init_hidden(batch_size)
    optimizer.zero_grad()
    outputs, hidden = model(inputs, hidden)
    loss = criterion(outputs.reshape(-1, input_size), targets.reshape(-1))
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print("epoch %d loss %.3f" % (epoch, loss.item()), decode(outputs))

print("final", decode(outputs))
