"""Tracks a ball in the image plane with a constant-acceleration model."""
import torch


def transition(dt=0.1, order=2):
    """Block matrix of one axis, for both axes interleaved."""
    block = torch.eye(order)
    for i in range(order):
        for j in range(i + 1, order):
            block[i, j] = dt ** (j - i) / max(1, j - i)
    return torch.kron(block, torch.eye(2))


def predict(F, state):
    return torch.mv(F, state)


def main(observed, state):
    F = transition().to(state.device)
    gain = torch.linspace(0.5, 0.1, 3, device=state.device).repeat_interleave(2)
    track = []
    for z in observed:
        state = predict(F, state)
        innovation = (z - state[:2]).repeat(3)
        state = state + gain * innovation
        track.append(state[:2])
    return torch.stack(track), state


def example_inputs():
    t = torch.linspace(0, 1.4, 15)
    ball = torch.stack([3 * t, 4 * t - 4.9 * t**2], dim=1)
    return ball + 0.01 * torch.randn_like(ball), torch.zeros(6)
