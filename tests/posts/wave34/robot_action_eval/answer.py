import argparse
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

# Zero-shot style evaluation of a small gripper policy on logged episodes.


class EpisodeSteps(Dataset):
    def __init__(self, n_episodes=40, steps=15, seed=0):
        rng = np.random.RandomState(seed)
        w = np.random.RandomState(99).randn(12, 4)
        states, actions = [], []
        for ep in range(n_episodes):
            difficulty = 0.05 + 0.6 * ep / n_episodes
            s = rng.randn(steps, 12)
            a = np.tanh(s @ w / 4.0) + difficulty * rng.randn(steps, 4)
            states.append(s)
            actions.append(a)
        self.states = torch.tensor(np.concatenate(states), dtype=torch.float32)
        self.actions = torch.tensor(np.concatenate(actions), dtype=torch.float32)

    def __len__(self):
        return len(self.states)

    def __getitem__(self, i):
        return {"state": self.states[i], "action": self.actions[i]}


class GripperPolicy(nn.Module):
    def __init__(self, state_dim=12, action_dim=4, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(state_dim, width), nn.GELU(),
            nn.Linear(width, width), nn.GELU(),
            nn.Linear(width, action_dim), nn.Tanh(),
        )

    def forward(self, state):
        return self.body(state)


def fit(policy, loader, epochs):
    opt = torch.optim.AdamW(policy.parameters(), lr=2e-3)
    for _ in range(epochs):
        for batch in loader:
            loss = nn.functional.mse_loss(policy(batch["state"]), batch["action"])
            opt.zero_grad()
            loss.backward()
            opt.step()


def quantile_filtered(mae, low=0.05, high=0.95):
    lo, hi = np.quantile(mae, low), np.quantile(mae, high)
    kept = mae[(mae >= lo) & (mae <= hi)]
    return float(kept.mean()) if len(kept) else math.nan


def evaluate(policy, loader, success_threshold=0.25):
    policy.eval()
    step_mse, step_mae = [], []
    with torch.no_grad():
        for batch in loader:
            predicted = policy(batch["state"])
            error = (predicted - batch["action"]).numpy()
            step_mse.extend((error ** 2).mean(axis=1).tolist())
            step_mae.extend(np.abs(error).mean(axis=1).tolist())
    step_mse = np.asarray(step_mse)
    step_mae = np.asarray(step_mae)
    return {
        "avg_dataset_amse": float(step_mse.mean()),
        "avg_dataset_amae": float(step_mae.mean()),
        "quantile_filtered_amae": quantile_filtered(step_mae),
        "max_rel_mae": float(step_mae.max() / step_mae.mean()),
        "proportion_below": float((step_mae < success_threshold).mean()),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(EpisodeSteps(seed=1), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(EpisodeSteps(seed=2), batch_size=args.batch_size, shuffle=False)

    policy = GripperPolicy()
    fit(policy, train_loader, args.epochs)
    for name, value in evaluate(policy, test_loader).items():
        print(f"{name}: {value:.4f}")


if __name__ == "__main__":
    main()
