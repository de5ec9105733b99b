import random
import string

import torch
import torch.nn as nn

all_letters = string.ascii_lowercase + "' "
n_letters = len(all_letters)

names = {
    "Italian": ["rossi", "bianchi", "ferrari", "colombo", "ricci", "marini", "greco", "conti"],
    "Polish": ["kowalski", "nowak", "wisniewski", "zielinski", "szymanski", "wozniak", "dabrowski", "mazur"],
    "Japanese": ["tanaka", "suzuki", "takahashi", "watanabe", "yamamoto", "nakamura", "kobayashi", "sato"],
}
categories = list(names)


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for i, letter in enumerate(line):
        tensor[i, 0, all_letters.index(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, letter, hidden):
        combined = torch.cat((letter, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        output = self.softmax(self.i2o(combined))
        return output, hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


torch.manual_seed(3)
random.seed(3)
n_hidden = 64
rnn = RNN(n_letters, n_hidden, len(categories))

output, hidden = rnn(line_to_tensor("rossi")[0], rnn.init_hidden())
print("sanity check", output.shape, hidden.shape)

criterion = nn.NLLLoss()
learning_rate = 0.01


def train(category_tensor, line_tensor):
    hidden = rnn.init_hidden()
    optimizer.zero_grad()
    for i in range(line_tensor.size(0)):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()


def random_pair():
    category = random.choice(categories)
    line = random.choice(names[category])
    return category, line, torch.tensor([categories.index(category)]), line_to_tensor(line)


n_iters = 3000
print_every = 500
current_loss = 0.0

rnn = RNN(n_letters, n_hidden, len(categories))
optimizer = torch.optim.SGD(rnn.parameters(), lr=learning_rate)

for it in range(1, n_iters + 1):
    category, line, category_tensor, line_tensor = random_pair()
    output, loss = train(category_tensor, line_tensor)
    current_loss += loss
    if it % print_every == 0:
        guess = categories[output.argmax(dim=1).item()]
        mark = "ok" if guess == category else f"wrong ({category})"
        print(f"{it} loss {current_loss / print_every:.4f} {line} / {guess} {mark}")
        current_loss = 0.0
