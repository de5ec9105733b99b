import argparse
import random
import string

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--hidden_size", type=int, default=48)
parser.add_argument("--learning_rate", type=float, default=5e-3)
parser.add_argument("--samples", type=int, default=200)
args = parser.parse_args()

random.seed(1)
torch.manual_seed(1)

letters = string.ascii_lowercase + "$"
endings = {"Russian": "ov", "Italian": "ini", "Greek": "poulos", "Irish": "ney"}
all_categories = list(endings)


def random_name():
    category = random.choice(all_categories)
    stem = "".join(random.choice(string.ascii_lowercase) for _ in range(random.randint(2, 5)))
    ending = endings[category] if random.random() < 0.85 else ""
    return category, stem + ending


def lines_to_tensor(words):
    longest = max(len(n) for n in words)
    tensor = torch.zeros(longest, len(words), len(letters))
    for b, name in enumerate(words):
        for k, ch in enumerate(name.rjust(longest, "$")):
            tensor[k, b, letters.index(ch)] = 1.0
    return tensor


def random_batch(batch_size):
    pairs = [random_name() for _ in range(batch_size)]
    labels = torch.tensor([all_categories.index(c) for c, _ in pairs])
    return labels, lines_to_tensor([n for _, n in pairs])


class NameRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.rnn = nn.GRU(input_size, hidden_size)
        self.fc = nn.Linear(hidden_size, output_size)

    def forward(self, names):
        _, h = self.rnn(names)
        return self.fc(h[-1])


model = NameRNN(len(letters), args.hidden_size, len(all_categories))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)

history = []
for step in range(1, args.samples + 1):
    labels, names = random_batch(args.batch_size)
    output = model(names)
    loss = criterion(output, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    guesses = output.argmax(dim=1)
    guess = guesses[0].item()
    truth = labels[0].item()
    accuracy = float(guess == truth)
    history.append((loss.item(), accuracy))
    if step % 20 == 0:
        print("step %4d  loss %.3f  accuracy %.3f  last guess %s (%s)" % (
            step, loss.item(), accuracy, all_categories[guess], all_categories[truth]))

last = history[-50:]
print("mean of the last 50 steps: loss %.3f accuracy %.3f" % tuple(sum(v) / len(last) for v in zip(*last)))
print("spread of the accuracy: %.3f" % torch.tensor([a for _, a in last]).std().item())
