import math

import torch
import torch.nn as nn


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, tuple(a + dt * b / 2 for a, b in zip(y, k1)))
    k3 = func(t + dt / 2, tuple(a + dt * b / 2 for a, b in zip(y, k2)))
    k4 = func(t + dt, tuple(a + dt * b for a, b in zip(y, k3)))
    return tuple(a + dt * (p + 2 * q + 2 * r + s) / 6 for a, p, q, r, s in zip(y, k1, k2, k3, k4))


def flatten(sequence):
    return torch.cat([p.reshape(-1) for p in sequence])


class OdeintAdjointMethod(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, flat_params):
        ctx.func = func
        with torch.no_grad():
            ans = [y0]
            for t0, t1 in zip(t[:-1], t[1:]):
                ans.append(rk4_step(lambda s, y: (func(s, y[0]),), t0, t1 - t0, (ans[-1],))[0])
            ans = torch.stack(ans)
        ctx.save_for_backward(t, ans)
        return ans

    @staticmethod
    def backward(ctx, grad_output):
        func = ctx.func
        t, ans = ctx.saved_tensors
        f_params = tuple(func.parameters())

        def augmented_dynamics(s, state):
            y, adj_y = state[0], state[1]
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = func(s, y)
                vjp_y, *vjp_params = torch.autograd.grad(f, (y,) + f_params, -adj_y)
            return f.detach(), vjp_y, flatten(vjp_params)

        adj_y = grad_output[-1]
        adj_params = torch.zeros_like(flatten(f_params))
        time_vjps = []
        for i in range(len(t) - 1, 0, -1):
            func_i = func(t[i], ans[i])
            # effect of moving the current time measurement point
            time_vjps.append(torch.dot(func_i.reshape(-1), grad_output[i].reshape(-1)))
            _, adj_y, adj_params = rk4_step(
                augmented_dynamics, t[i], t[i - 1] - t[i], (ans[i], adj_y, adj_params))
            adj_y = adj_y + grad_output[i - 1]
        time_vjps.append(-torch.stack(time_vjps).sum())
        return None, adj_y, torch.stack(time_vjps[::-1]), adj_params


def odeint_adjoint(func, y0, t):
    return OdeintAdjointMethod.apply(func, y0, t, flatten(func.parameters()))


class LatentODEfunc(nn.Module):
    def __init__(self, latent_dim=4, nhidden=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent_dim, nhidden), nn.ELU(inplace=True),
                                 nn.Linear(nhidden, nhidden), nn.ELU(inplace=True), nn.Linear(nhidden, latent_dim))

    def forward(self, t, x):
        return self.net(x)


class RecognitionRNN(nn.Module):
    def __init__(self, latent_dim=4, obs_dim=2, nhidden=25):
        super().__init__()
        self.gru = nn.GRU(obs_dim, nhidden, batch_first=True)
        self.h2o = nn.Linear(nhidden, latent_dim * 2)

    def forward(self, x):
        _, h = self.gru(x.flip(1))
        return self.h2o(h[0]).chunk(2, dim=1)


def generate_spirals(n=100, steps=30):
    ts = torch.linspace(0, 6 * math.pi, 200)
    radius = 0.3 * ts + 1
    spiral = torch.stack([radius * ts.cos(), radius * ts.sin()], 1) / 7
    starts = torch.randint(0, 150, (n,)).tolist()
    return torch.stack([spiral[s:s + steps] for s in starts]) + 0.02 * torch.randn(n, steps, 2), ts[:steps]


if __name__ == '__main__':
    torch.manual_seed(0)
    samp_trajs, samp_ts = generate_spirals()
    func, rec = LatentODEfunc(), RecognitionRNN()
    dec = nn.Sequential(nn.Linear(4, 20), nn.ReLU(inplace=True), nn.Linear(20, 2))
    params = list(func.parameters()) + list(dec.parameters()) + list(rec.parameters())
    optimizer = torch.optim.Adam(params, lr=0.01)
    for itr in range(1, 4):
        optimizer.zero_grad()
        mean, logvar = rec(samp_trajs)
        z0 = mean + torch.randn_like(mean) * torch.exp(.5 * logvar)
        pred_z = odeint_adjoint(func, z0, samp_ts).permute(1, 0, 2)
        pred_x = dec(pred_z)
        logpx = -0.5 * ((samp_trajs - pred_x) / 0.3).pow(2).sum((1, 2))
        kl = 0.5 * (mean.pow(2) + logvar.exp() - 1 - logvar).sum(1)
        loss = torch.mean(kl - logpx)
        loss.backward()
        optimizer.step()
        print('Iter: {}, elbo: {:.4f}'.format(itr, -loss.item()))
