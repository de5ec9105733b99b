# Classifying surnames with a character-level RNN (after the well known tutorial)
import random
import string
import time
import math
import unicodedata

import torch
import torch.nn as nn

all_letters = string.ascii_letters + " .,;'"
n_letters = len(all_letters)


def unicodeToAscii(s):
    return ''.join(c for c in unicodedata.normalize('NFD', s)
                   if unicodedata.category(c) != 'Mn' and c in all_letters)


# surnames put together from typical parts, three languages
parts = {
    'Russian': (['Iva', 'Petr', 'Smirn', 'Vasil', 'Pop', 'Sokol'], ['nov', 'ov', 'ev', 'enko', 'insky']),
    'Italian': (['Ross', 'Bianch', 'Esposit', 'Ricc', 'Marin', 'Gall'], ['ini', 'o', 'etti', 'ella', 'ucci']),
    'Japanese': (['Taka', 'Yama', 'Naka', 'Mori', 'Kobaya', 'Fuji'], ['hashi', 'moto', 'mura', 'shita', 'wara']),
}
category_lines = {c: [unicodeToAscii(a + b) for a in first for b in last] for c, (first, last) in parts.items()}
all_categories = list(category_lines)
n_categories = len(all_categories)


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][all_letters.find(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size, hidden_size)
        self.h2h = nn.Linear(hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        hidden = torch.tanh(self.i2h(input) + self.h2h(hidden))
        output = self.softmax(self.h2o(hidden))
        return output, hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


def randomTrainingExample():
    category = random.choice(all_categories)
    line = random.choice(category_lines[category])
    category_tensor = torch.tensor([all_categories.index(category)], dtype=torch.long)
    return category, line, category_tensor, lineToTensor(line)


random.seed(1)
torch.manual_seed(1)
rnn = RNN(n_letters, 64, n_categories)
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.005)


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    optimizer.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()


n_iters = 2000
print_every = 400
current_loss = 0
start = time.time()
for iter in range(1, n_iters + 1):
    category, line, category_tensor, line_tensor = randomTrainingExample()
    output, loss = train(category_tensor, line_tensor)
    current_loss += loss
    if iter % print_every == 0:
        s = time.time() - start
        guess = all_categories[output.argmax(1).item()]
        print('%d (%dm %ds) loss %.4f  %s / %s %s' % (iter, math.floor(s / 60), s % 60, current_loss / print_every,
                                                     line, guess, '✓' if guess == category else '✗ (%s)' % category))
        current_loss = 0


def evaluate(line):
    with torch.no_grad():
        hidden = rnn.initHidden()
        for letter in lineToTensor(line):
            output, hidden = rnn(letter, hidden)
    return output


right = sum(evaluate(l).argmax(1).item() == k for k, c in enumerate(all_categories) for l in category_lines[c])
print('accuracy on all the names: %.3f' % (right / sum(len(v) for v in category_lines.values())))
