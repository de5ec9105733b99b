import collections

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class TabletopEnv:
    """Small stand-in for a manipulation simulator with one camera and joint readings."""

    def __init__(self, image_size=96, horizon=12, seed=0):
        self.image_size = image_size
        self.horizon = horizon
        self.rng = np.random.default_rng(seed)
        self.t = 0

    def render(self):
        return self.rng.integers(0, 256, (self.image_size, self.image_size, 3), dtype=np.uint8)

    def get_observation(self):
        frame = self.render()
        return {
            "state": self.rng.standard_normal(9).astype(np.float32),
            "rgb": frame,
        }

    def reset(self):
        self.t = 0
        return self.get_observation()

    def step(self, action):
        self.t += 1
        reward = float(-np.square(action).sum())
        return self.get_observation(), reward, self.t >= self.horizon


class VisionEncoder(nn.Module):
    def __init__(self, in_channels=3, feature_dim=64):
        super().__init__()
        self.patch = nn.Conv2d(in_channels, 32, kernel_size=8, stride=4)
        self.conv = nn.Conv2d(32, 64, kernel_size=3, stride=2)
        self.proj = nn.Linear(64, feature_dim)

    def forward(self, rgb):
        x = F.relu(self.patch(rgb))
        x = F.relu(self.conv(x))
        return self.proj(x.mean(dim=(2, 3)))


class PixelPolicy(nn.Module):
    def __init__(self, state_dim=9, action_dim=7, action_steps=4, img_cond_steps=1):
        super().__init__()
        self.img_cond_steps = img_cond_steps
        self.action_dim = action_dim
        self.action_steps = action_steps
        self.encoder = VisionEncoder()
        self.head = nn.Sequential(
            nn.Linear(64 * img_cond_steps + state_dim, 128),
            nn.Mish(),
            nn.Linear(128, action_dim * action_steps),
        )

    def forward(self, cond):
        rgb = cond["rgb"][:, -self.img_cond_steps:]
        b, t = rgb.shape[:2]
        rgb = rgb.flatten(0, 1).float() / 255.0
        feat = self.encoder(rgb).reshape(b, -1)
        state = cond["state"][:, -1]
        out = self.head(torch.cat([feat, state], dim=-1))
        return torch.tanh(out).view(b, self.action_steps, self.action_dim)


def stack_observations(obs_list, device):
    rgb = np.stack([o["rgb"] for o in obs_list])[:, None]
    state = np.stack([o["state"] for o in obs_list])[:, None]
    return {
        "rgb": torch.from_numpy(rgb).to(device),
        "state": torch.from_numpy(state).to(device),
    }


@torch.no_grad()
def evaluate(policy, n_envs=20, device="cpu"):
    envs = [TabletopEnv(seed=i) for i in range(n_envs)]
    obs = [env.reset() for env in envs]
    returns = collections.defaultdict(float)
    done = [False] * n_envs
    while not all(done):
        actions = policy(stack_observations(obs, device)).cpu().numpy()
        for k in range(policy.action_steps):
            for i, env in enumerate(envs):
                if done[i]:
                    continue
                obs[i], reward, done[i] = env.step(actions[i, k])
                returns[i] += reward
    return np.mean(list(returns.values()))


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    policy = PixelPolicy().to(device).eval()
    print("mean return: %.3f" % evaluate(policy, device=device))
