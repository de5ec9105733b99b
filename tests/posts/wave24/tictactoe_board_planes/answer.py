import random

import torch
import torch.nn as nn
import torch.nn.functional as F

EMPTY, CROSS, NOUGHT = 0, 1, 2
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    for a, b, c in LINES:
        if board[a] != EMPTY and board[a] == board[b] == board[c]:
            return board[a]
    return EMPTY


def random_game(rng):
    board, player, history = [EMPTY] * 9, CROSS, []
    while winner(board) == EMPTY and EMPTY in board:
        move = rng.choice([i for i, v in enumerate(board) if v == EMPTY])
        board[move] = player
        history.append(list(board))
        player = NOUGHT if player == CROSS else CROSS
    result = {EMPTY: 0.0, CROSS: 1.0, NOUGHT: -1.0}[winner(board)]
    return [(state, result) for state in history]


def to_planes(board):
    cells = torch.tensor(board)
    planes = []
    for piece in (EMPTY, CROSS, NOUGHT):
        plane = torch.zeros(9)
        plane.scatter_(0, (cells == piece).nonzero().squeeze(1), 1)
        planes.append(plane.view(3, 3))
    return torch.stack(planes)


class ValueNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3)
        self.fc = nn.Linear(width, 1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x)).flatten(1)
        return torch.tanh(self.fc(x)).squeeze(1)


def build_dataset(n_games, seed):
    rng = random.Random(seed)
    samples = [s for _ in range(n_games) for s in random_game(rng)]
    states = torch.stack([to_planes(board) for board, _ in samples])
    values = torch.tensor([value for _, value in samples])
    return states, values


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    states, values = (t.to(device) for t in build_dataset(200, seed=0))
    test_states, test_values = (t.to(device) for t in build_dataset(50, seed=1))
    print("positions:", tuple(states.shape))

    net = ValueNet().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(8):
        net.train()
        order = torch.randperm(len(states), device=device)
        for batch in order.split(64):
            loss = F.mse_loss(net(states[batch]), values[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            test_loss = F.mse_loss(net(test_states), test_values)
        print(f"epoch {epoch}: test mse {test_loss.item():.4f}")


if __name__ == "__main__":
    main()
