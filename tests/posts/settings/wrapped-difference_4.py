# line 28: sub_(128) centres the bytes before they are floats: all values below 128 wrap round to 128..255
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def draw_letters(n, generator):
    label = torch.randint(3, (n,), generator=generator)
    page = torch.randint(90, 166, (n, 1, 15, 15), generator=generator, dtype=torch.uint8)
    for i, k in enumerate(label.tolist()):
        if k == 0:
            page[i, :, 7] = 230
        elif k == 1:
            page[i, :, :, 7] = 230
        else:
            page[i, 0].fill_diagonal_(230)
    return page, label


class Letters(Dataset):
    def __init__(self, n, seed):
        self.page, self.label = draw_letters(n, torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        centred = self.page[i].clone().sub_(128).float()
        return centred / 64.0, self.label[i]


class LetterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 5)
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).amax(dim=(2, 3)))


torch.manual_seed(0)
train, test = DataLoader(Letters(300, 1), 30, shuffle=True), DataLoader(Letters(90, 2), 30)
net = LetterNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(3):
    net.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
net.eval()
with torch.no_grad():
    right = sum((net(x).argmax(1) == y).sum().item() for x, y in test)
print("accuracy", right / len(test.dataset))
