import time
from collections import deque

import torch
import torch.nn as nn
import torch.optim as optim

device = "cuda" if torch.cuda.is_available() else "cpu"


class TrackEnv:
    """Vectorised toy track. The obstacle type of an episode is seen in the depth image of its first steps only."""

    def __init__(self, num_envs, max_len=24, img=(16, 24)):
        self.num_envs, self.max_len, self.img = num_envs, max_len, img
        self.num_obs, self.num_actions = 6, 2
        self.t = torch.randint(0, max_len, (num_envs,), device=device)
        self.obstacle = torch.randint(0, 2, (num_envs,), device=device)
        self.state = torch.zeros(num_envs, self.num_obs, device=device)

    def depth(self):
        image = 0.1 * torch.randn(self.num_envs, *self.img, device=device)
        seen = (self.t < 3).float() * (self.obstacle * 2 - 1).float()
        image[:, 4:12, 6:18] += seen[:, None, None]
        return image

    def teacher_action(self):
        side = (self.obstacle * 2 - 1).float()
        return torch.stack([side, 0.5 * self.state[:, 0] - 0.2 * side], dim=1)

    def step(self, actions):
        error = (actions - self.teacher_action()).pow(2).sum(1)
        self.t += 1
        dones = (self.t >= self.max_len) | ((error > 6.0) & (torch.rand(self.num_envs, device=device) < 0.3))
        self.state = 0.9 * self.state + 0.1 * torch.randn_like(self.state)
        ids = dones.nonzero(as_tuple=False).flatten()
        self.t[ids] = 0
        self.state[ids] = 0.0
        self.obstacle[ids] = torch.randint(0, 2, (len(ids),), device=device)
        return self.state.clone(), -error, dones


class DepthBackbone(nn.Module):
    def __init__(self, out_dim=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2), nn.ELU(), nn.Conv2d(8, 16, 3, stride=2), nn.ELU(),
            nn.Flatten(), nn.LazyLinear(out_dim), nn.ELU(),
        )

    def forward(self, images):
        return self.net(images.unsqueeze(1))


class RecurrentDepth(nn.Module):
    def __init__(self, num_obs, latent=16, hidden=48):
        super().__init__()
        self.base_backbone = DepthBackbone()
        self.combination_mlp = nn.Sequential(nn.Linear(24 + num_obs, 32), nn.ELU())
        self.rnn = nn.GRU(input_size=32, hidden_size=hidden, batch_first=True)
        self.output_mlp = nn.Sequential(nn.Linear(hidden, latent), nn.Tanh())
        self.hidden_states = None

    def forward(self, depth_image, proprioception):
        depth_latent = self.combination_mlp(torch.cat((self.base_backbone(depth_image), proprioception), dim=-1))
        out, self.hidden_states = self.rnn(depth_latent[:, None, :], self.hidden_states)
        return self.output_mlp(out.squeeze(1))

    def detach_hidden_states(self):
        self.hidden_states = self.hidden_states.detach().clone()


class VisionRunner:
    def __init__(self, env, num_steps=24):
        self.env, self.num_steps = env, num_steps
        self.depth_encoder = RecurrentDepth(env.num_obs).to(device)
        self.depth_actor = nn.Sequential(nn.Linear(env.num_obs + 16, 32), nn.ELU(), nn.Linear(32, env.num_actions)).to(device)
        with torch.no_grad():
            self.depth_encoder.base_backbone(env.depth())
        params = [*self.depth_encoder.parameters(), *self.depth_actor.parameters()]
        self.depth_actor_optimizer = optim.Adam(params, lr=2e-3)

    def learn_vision(self, num_iterations):
        obs = self.env.state.clone()
        rewbuffer, lenbuffer = deque(maxlen=100), deque(maxlen=100)
        rew_sum = torch.zeros(self.env.num_envs, device=device)
        ep_len = torch.zeros(self.env.num_envs, device=device)
        for it in range(num_iterations):
            start = time.time()
            actions_teacher, actions_student = [], []
            for _ in range(self.num_steps):
                latent = self.depth_encoder(self.env.depth(), obs)
                action = self.depth_actor(torch.cat((obs, latent), dim=-1))
                actions_teacher.append(self.env.teacher_action())
                actions_student.append(action)
                obs, rewards, dones = self.env.step(action.detach())

                rew_sum += rewards
                ep_len += 1
                finished = dones.nonzero(as_tuple=False).flatten()
                rewbuffer.extend(rew_sum[finished].tolist())
                lenbuffer.extend(ep_len[finished].tolist())
                rew_sum[finished] = 0
                ep_len[finished] = 0
                keep = (~dones).float()[None, :, None]
                self.depth_encoder.hidden_states = self.depth_encoder.hidden_states * keep

            target, student = torch.cat(actions_teacher), torch.cat(actions_student)
            loss = (target.detach() - student).norm(p=2, dim=1).mean()
            self.depth_actor_optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.depth_actor.parameters(), 1.0)
            self.depth_actor_optimizer.step()
            self.depth_encoder.detach_hidden_states()
            if it % 10 == 9:
                mean_rew = sum(rewbuffer) / max(len(rewbuffer), 1)
                mean_len = sum(lenbuffer) / max(len(lenbuffer), 1)
                print(f"it {it + 1:3d} loss {loss.item():.4f} rew {mean_rew:.2f} len {mean_len:.1f} ({time.time() - start:.2f}s)")


if __name__ == "__main__":
    torch.manual_seed(1)
    runner = VisionRunner(TrackEnv(num_envs=32))
    runner.learn_vision(num_iterations=60)
