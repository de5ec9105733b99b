import random
import string

import torch
import torch.nn as nn
import torch.optim as optim

all_letters = string.ascii_lowercase + "'"
n_letters = len(all_letters)

endings = {
    "Italian": ["ini", "elli", "ucci", "etti"],
    "Russian": ["ov", "enko", "sky", "ev"],
    "Japanese": ["moto", "yama", "saki", "kawa"],
    "Greek": ["opoulos", "akis", "idis", "oglou"],
}
all_categories = list(endings)
n_categories = len(all_categories)


def random_name(category):
    stem = "".join(random.choice(string.ascii_lowercase) for _ in range(random.randint(2, 4)))
    return stem + random.choice(endings[category])


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for i, letter in enumerate(line):
        tensor[i][0][all_letters.find(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        output = self.softmax(self.i2o(combined))
        return output, hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


torch.manual_seed(3)
random.seed(3)

n_hidden = 64
rnn = RNN(n_letters, n_hidden, n_categories)

# one step on a single letter, to look at the output
output, next_hidden = rnn(line_to_tensor("a")[0], rnn.init_hidden())
print("first output:", output.detach())

criterion = nn.NLLLoss()
optimizer = optim.SGD(rnn.parameters(), lr=0.02)


def random_training_example():
    category = random.choice(all_categories)
    line = random_name(category)
    category_tensor = torch.tensor([all_categories.index(category)])
    return category, line, category_tensor, line_to_tensor(line)


def train(category_tensor, line_tensor):
    hidden = rnn.init_hidden()
    optimizer.zero_grad()
    for i in range(line_tensor.size(0)):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return output, loss.item()


n_iters = 3000
print_every = 500

current_loss, correct = 0.0, 0
for iteration in range(1, n_iters + 1):
    category, line, category_tensor, line_tensor = random_training_example()
    output, loss = train(category_tensor, line_tensor)
    current_loss += loss
    guess = all_categories[output.argmax(1).item()]
    correct += guess == category
    if iteration % print_every == 0:
        print(f"{iteration} {current_loss / print_every:.4f} accuracy {correct / print_every:.2f} {line} / {guess}")
        current_loss, correct = 0.0, 0
