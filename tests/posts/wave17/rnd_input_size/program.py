import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class CuriosityModel(nn.Module):
    """Random network distillation: a fixed random target and a trained predictor."""

    def __init__(self, input_size, output_size):
        super().__init__()
        self.input_size = input_size
        self.output_size = output_size
        flat_size = 7 * 7 * 64

        self.predictor_conv = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=8, stride=4), nn.LeakyReLU(),
            nn.Conv2d(32, 64, kernel_size=4, stride=2), nn.LeakyReLU(),
            nn.Conv2d(64, 64, kernel_size=3, stride=1), nn.LeakyReLU(),
            nn.Flatten(),
        )
        self.predictor_fc = nn.Sequential(
            nn.Linear(flat_size, 256), nn.ReLU(),
            nn.Linear(256, 256),
        )
        self.target_conv = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=8, stride=4), nn.LeakyReLU(),
            nn.Conv2d(32, 64, kernel_size=4, stride=2), nn.LeakyReLU(),
            nn.Conv2d(64, 64, kernel_size=3, stride=1), nn.LeakyReLU(),
            nn.Flatten(),
        )
        self.target_fc = nn.Linear(flat_size, 256)
        for p in list(self.target_conv.parameters()) + list(self.target_fc.parameters()):
            p.requires_grad = False

    def forward(self, frames_in):
        target = self.target_fc(self.target_conv(frames_in))
        predict = self.predictor_fc(self.predictor_conv(frames_in))
        return predict, target


class GridRoomEnv:
    """A little room seen from above; the agent is a bright square."""

    def __init__(self, size, seed=0):
        self.size = size
        self.rng = np.random.RandomState(seed)
        self.pos = np.array([size // 2, size // 2])

    def step(self, action):
        moves = [(-4, 0), (4, 0), (0, -4), (0, 4)]
        self.pos = np.clip(self.pos + moves[action], 4, self.size - 5)
        frame = np.zeros((self.size, self.size), dtype=np.float32)
        y, x = self.pos
        frame[y - 3:y + 4, x - 3:x + 4] = 1.0
        return frame


def collect(env, steps):
    frames = [env.step(env.rng.randint(4)) for _ in range(steps)]
    return torch.from_numpy(np.stack(frames)).unsqueeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--frame-size', type=int, default=60)
    parser.add_argument('--rollouts', type=int, default=4)
    parser.add_argument('--lr', type=float, default=1e-4)
    args = parser.parse_args()

    torch.manual_seed(1)
    env = GridRoomEnv(args.frame_size)
    model = CuriosityModel(input_size=(args.frame_size, args.frame_size), output_size=4)
    optimizer = optim.Adam([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    mse = nn.MSELoss(reduction='none')

    for rollout in range(args.rollouts):
        obs = collect(env, 128)
        for batch in obs.split(32):
            predict, target = model(batch)
            intrinsic = mse(predict, target.detach()).mean(dim=1)
            loss = intrinsic.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f'rollout {rollout}: intrinsic reward {loss.item():.4f}')


if __name__ == '__main__':
    main()
