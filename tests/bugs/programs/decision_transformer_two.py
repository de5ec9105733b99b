import torch
import torch.nn as nn
import torch.nn.functional as F


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim, n_actions, hidden, max_ep_len, n_layer=2, n_head=2):
        super().__init__()
        self.hidden = hidden
        self.embed_timestep = nn.Embedding(max_ep_len, hidden)
        self.embed_return = nn.Linear(1, hidden)
        self.embed_state = nn.Linear(state_dim, hidden)
        self.embed_action = nn.Embedding(n_actions, hidden)
        self.embed_ln = nn.LayerNorm(hidden)
        layer = nn.TransformerEncoderLayer(hidden, n_head, 4 * hidden, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, n_layer)
        self.predict_action = nn.Linear(hidden, n_actions)

    def forward(self, states, actions, rtg, timesteps):
        B, T = actions.shape
        when = self.embed_timestep(timesteps)
        r = self.embed_return(rtg) + when
        s = self.embed_state(states) + when
        a = self.embed_action(actions) + when
        x = torch.stack((r, s, a), dim=2).reshape(B, 3 * T, self.hidden)
        mask = nn.Transformer.generate_square_subsequent_mask(3 * T)
        x = self.transformer(self.embed_ln(x), mask=mask)
        x = x.reshape(B, T, 3, self.hidden)
        return self.predict_action(x[:, :, 1])


def main(states, actions, rewards):
    B, T, n = states.shape
    model = DecisionTransformer(n, n_actions=3, hidden=24, max_ep_len=50)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rtg = rewards.flip(1).cumsum(1).flip(1)
    timesteps = torch.arange(T).expand(B, T)
    logits = model(states, actions, rtg, timesteps)
    loss = F.cross_entropy(logits, actions)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def example_inputs():
    return torch.randn(4, 10, 6), torch.randint(0, 3, (4, 10)), torch.rand(4, 10)
