import torch
import torch.nn as nn

params = {"obs_len": 8, "pred_len": 12, "embedding": 16, "hidden": 32}


class TrajectoryEncoder(nn.Module):
    def __init__(self, embedding, hidden):
        super().__init__()
        self.spatial = nn.Linear(2, embedding)
        self.gru = nn.GRU(embedding, hidden)

    def forward(self, track):
        e = torch.relu(self.spatial(track))
        states, _ = self.gru(e)
        return states[:, -1]


class Model(nn.Module):
    def __init__(self, params=params):
        super().__init__()
        self.pred_len = params["pred_len"]
        self.encoder = TrajectoryEncoder(params["embedding"], params["hidden"])
        self.decoder = nn.GRUCell(2, params["hidden"])
        self.to_step = nn.Linear(params["hidden"], 2)

    def forward(self, obs):
        # obs: (pedestrians, obs_len, 2)
        h = self.encoder(obs)
        pos = obs[:, -1]
        future = []
        step = pos - obs[:, -2]
        for _ in range(self.pred_len):
            h = self.decoder(step, h)
            step = self.to_step(h)
            pos = pos + step
            future.append(pos)
        return torch.stack(future, dim=1)


def example_inputs():
    return (torch.randn(5, params["obs_len"], 2).cumsum(1),)
