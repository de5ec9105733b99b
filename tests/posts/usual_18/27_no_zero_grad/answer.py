# Emulate a projectile with drag by a small network. Physics lab, part B.
import math
import torch
from torch import nn

torch.manual_seed(0)


def shoot(v, angle, drag, dt=0.02):
    """distance flown, simple Euler steps (vectorised over shots)"""
    vx, vy = v * torch.cos(angle), v * torch.sin(angle)
    x = torch.zeros_like(v)
    y = torch.zeros_like(v)
    flying = torch.ones_like(v, dtype=torch.bool)
    for _ in range(300):
        speed = torch.sqrt(vx ** 2 + vy ** 2)
        vx = vx - drag * speed * vx * dt
        vy = vy - (9.81 + drag * speed * vy) * dt
        x = torch.where(flying, x + vx * dt, x)
        y = y + vy * dt
        flying = flying & (y > 0)
    return x


def sample(n):
    v = torch.rand(n) * 20 + 5
    angle = torch.rand(n) * (math.pi / 2 - 0.2) + 0.1
    drag = torch.rand(n) * 0.05
    features = torch.stack([(v - 15) / 6, (angle - 0.8) / 0.4, (drag - 0.025) / 0.015], dim=1)
    return features, shoot(v, angle, drag).unsqueeze(1) / 10


X_train, y_train = sample(1000)
X_test, y_test = sample(200)

net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
mse = nn.MSELoss()
sgd = torch.optim.SGD(net.parameters(), lr=0.02)


def train_epoch(batch_size=50):
    net.train()
    perm = torch.randperm(len(X_train))
    losses = []
    for i in range(0, len(perm), batch_size):
        idx = perm[i:i + batch_size]
        prediction = net(X_train[idx])
        loss = mse(prediction, y_train[idx])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def test_error():
    net.eval()
    with torch.no_grad():
        return (net(X_test) - y_test).abs().mean().item() * 10


for epoch in range(20):
    train_loss = train_epoch()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d} loss {train_loss:.4f}  mean error {test_error():.2f} m")
