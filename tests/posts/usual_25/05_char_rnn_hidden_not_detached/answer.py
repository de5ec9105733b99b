import torch
import torch.nn as nn

text = (
    "it was the best of times, it was the worst of times, it was the age of wisdom, "
    "it was the age of foolishness, it was the epoch of belief, it was the epoch of "
    "incredulity, it was the season of light, it was the season of darkness. "
) * 12
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text])

batch_size = 8
seq_len = 25
hidden_size = 64
num_epochs = 3

n = (len(data) - 1) // batch_size
inputs = data[: n * batch_size].view(batch_size, n)
targets = data[1 : n * batch_size + 1].view(batch_size, n)


class CharLSTM(nn.Module):
    def __init__(self, vocab_size, hidden_size, num_layers=1):
        super().__init__()
        self.num_layers = num_layers
        self.hidden_size = hidden_size
        self.embed = nn.Embedding(vocab_size, hidden_size)
        self.lstm = nn.LSTM(hidden_size, hidden_size, num_layers, batch_first=True)
        self.linear = nn.Linear(hidden_size, vocab_size)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.embed(x), hidden)
        return self.linear(out), hidden

    def init_hidden(self, batch_size):
        shape = (self.num_layers, batch_size, self.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)


torch.manual_seed(0)
model = CharLSTM(len(chars), hidden_size)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(num_epochs):
    hidden = model.init_hidden(batch_size)
    for i in range(0, n - seq_len, seq_len):
        hidden = tuple(h.detach() for h in hidden)
        x = inputs[:, i : i + seq_len]
        y = targets[:, i : i + seq_len]
        optimizer.zero_grad()
        output, hidden = model(x, hidden)
        loss = criterion(output.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print("epoch", epoch + 1, "loss", round(loss.item(), 3))

model.eval()
with torch.no_grad():
    hidden = model.init_hidden(1)
    x = torch.tensor([[stoi["i"]]])
    result = "i"
    for _ in range(60):
        output, hidden = model(x, hidden)
        probs = torch.softmax(output[0, -1], dim=0)
        x = torch.multinomial(probs, 1).view(1, 1)
        result += itos[x.item()]
print(result)
