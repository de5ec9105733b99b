# Lab 3 - my first neural network
# task: predict if a student passes the exam from the hours of study etc.
import csv
import random

import torch
import torch.nn as nn

random.seed(10)
torch.manual_seed(10)

# make the csv file of the lab
with open("students.csv", "w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(["hours", "absences", "midterm", "sleep", "passed"])
    for i in range(300):
        hours = round(random.uniform(0, 20), 1)
        absences = random.randint(0, 10)
        midterm = random.randint(20, 100)
        sleep = round(random.uniform(4, 9), 1)
        score = 2.5 * hours - 2 * absences + 0.5 * midterm + 2 * sleep + random.gauss(0, 5)
        writer.writerow([hours, absences, midterm, sleep, int(score > 55)])

# read it
rows = []
with open("students.csv") as f:
    for row in csv.DictReader(f):
        rows.append([float(v) for v in row.values()])
data = torch.tensor(rows)
data = data[torch.randperm(len(data))]

x = data[:, :4]
y = data[:, 4:]

x_train, y_train = x[:240], y[:240]
x_test, y_test = x[240:], y[240:]

# standardize with the training statistics
m = x_train.mean(dim=0)
s = x_train.std(dim=0)
x_train = (x_train - m) / s
x_test = (x_test - m) / s


class MyNetwork(nn.Module):
    def __init__(self, n_inputs, n_hidden):
        self.n_inputs = n_inputs
        self.layer1 = nn.Linear(n_inputs, n_hidden)
        self.layer2 = nn.Linear(n_hidden, n_hidden)
        self.layer3 = nn.Linear(n_hidden, 1)
        self.act = nn.Tanh()

    def forward(self, x):
        x = self.act(self.layer1(x))
        x = self.act(self.layer2(x))
        x = torch.sigmoid(self.layer3(x))
        return x


net = MyNetwork(4, 16)
print(net)

loss_function = nn.BCELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

batch = 20
for epoch in range(40):
    net.train()
    order = torch.randperm(len(x_train))
    total = 0
    for k in range(0, len(order), batch):
        index = order[k:k + batch]
        out = net(x_train[index])
        loss = loss_function(out, y_train[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + loss.item() * len(index)
    if epoch % 10 == 9:
        print("epoch", epoch + 1, "loss", round(total / len(x_train), 4))

# test
net.eval()
with torch.no_grad():
    guess = (net(x_test) > 0.5).float()
print("accuracy:", (guess == y_test).float().mean().item())
