import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
VOCAB, EMB, HID = 12, 16, 20


class FirstModel(nn.Module):
    def __init__(self):
        super(FirstModel, self).__init__()
        self.fc1 = nn.Linear(EMB, HID)
        self.fc2 = nn.Linear(HID, VOCAB)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class SecondModel(nn.Module):
    def __init__(self):
        super(SecondModel, self).__init__()
        self.emb = nn.Linear(VOCAB, HID, bias=False)
        self.out = nn.Linear(HID, 3)

    def forward(self, word):
        return self.out(F.relu(self.emb(word)))


first_model = FirstModel()
second_model = SecondModel()
optimizer = torch.optim.SGD(list(first_model.parameters()) + list(second_model.parameters()), lr=0.1)
criterion = nn.CrossEntropyLoss()

x = torch.randn(64, EMB)
y = torch.randint(0, 3, (64,))

for step in range(3):
    first_model.zero_grad()
    second_model.zero_grad()
    y_p = first_model(x)
    word = F.softmax(y_p, 1)
    loss = criterion(second_model(word), y)
    loss.backward()
    for param in second_model.parameters():
        print("second grad", param.grad.data.norm())
    for param in first_model.parameters():
        print("first grad", param.grad.data.norm())
    optimizer.step()
    print("step", step, "loss", loss.item())
