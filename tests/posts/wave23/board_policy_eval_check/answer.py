import torch
import torch.nn as nn
import torch.nn.functional as F

BOARD = 19
PLANES = 4


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        return F.relu(x + h)


class PolicyNet(nn.Module):
    def __init__(self, width=16, blocks=2):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(PLANES, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        )
        self.tower = nn.Sequential(*[ResBlock(width) for _ in range(blocks)])
        self.policy = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        return self.policy(self.tower(self.stem(x))).flatten(1)


def get_boards(n):
    stones = torch.randint(0, 3, (n, BOARD, BOARD))
    planes = [(stones == k).float() for k in range(3)]
    planes.append(torch.ones(n, BOARD, BOARD))
    return torch.stack(planes, dim=1)


def train(model, steps=20, batch=16):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model.train()
    for step in range(steps):
        boards = get_boards(batch)
        moves = boards[:, 0].flatten(1).argmax(dim=1)
        loss = F.cross_entropy(model(boards), moves)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"trained, last loss {loss.item():.4f}")


def check_repeatable(model, boards, tol=1e-5):
    with torch.no_grad():
        model.eval()
        first = model(boards)
        second = model(boards)
    err = (first - second).norm().item()
    print(f"difference of the two passes {err:.6f}", "ok" if err <= tol else "MISMATCH")
    return err


if __name__ == "__main__":
    torch.manual_seed(0)
    net = PolicyNet()
    train(net)
    check_repeatable(net, get_boards(8))
