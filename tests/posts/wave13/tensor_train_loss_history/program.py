import resource
import time

import torch


class TensorTrain:
    """a tensor as a chain of three-way cores, all of them leaves that want a gradient"""

    def __init__(self, shape, rank, scale=0.3):
        ranks = [1] + [rank] * (len(shape) - 1) + [1]
        self.cores = []
        for n, r0, r1 in zip(shape, ranks[:-1], ranks[1:]):
            core = scale * torch.randn(r0, n, r1)
            self.cores.append(core.requires_grad_())

    def full(self):
        out = self.cores[0]
        for core in self.cores[1:]:
            out = torch.tensordot(out, core, dims=1)
        return out.squeeze(0).squeeze(-1)

    def numel(self):
        return sum(core.numel() for core in self.cores)


def picture_stack(size=100, frames=3):
    """smooth colour picture of size x size, a few frames of it"""
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing='ij')
    planes = []
    for f in range(frames):
        t = f / frames
        planes.append(torch.sin(6 * x + 3 * t) * torch.cos(4 * y) + 0.5 * torch.exp(-8 * (x - y) ** 2))
    return torch.stack(planes, dim=-1)


def relative_error(truth, tt):
    return torch.linalg.norm(truth - tt.full()) / torch.linalg.norm(truth)


def smoothness(tt):
    return sum(((c[:, 1:] - c[:, :-1]) ** 2).mean() for c in tt.cores)


def optimize(tt, truth, max_iter=1200, lr=1e-2, tol=1e-5, print_freq=300):
    """fits the cores by Adam; returns the history of the errors"""
    optimizer = torch.optim.Adam(tt.cores, lr=lr)
    history = []
    start = time.time()
    for it in range(max_iter):
        error = relative_error(truth, tt)
        history.append(error)
        loss = ((truth - tt.full()) ** 2).mean() + 1e-4 * smoothness(tt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % print_freq == 0 or it == max_iter - 1:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print('iter: {:<5}| loss: {:.6f} | error: {:.5f} | memory: {:6.0f} MB'.format(
                it, loss.item(), history[-1], memory))
        if it > 50 and abs(history[-50] - history[-1]) < tol:
            print('converged after {} iterations'.format(it))
            break
    print('time: {:.1f} s'.format(time.time() - start))
    return history


def main():
    torch.manual_seed(0)
    truth = picture_stack()
    tt = TensorTrain(truth.shape, rank=8)
    print('compression: {} -> {} numbers'.format(truth.numel(), tt.numel()))
    history = optimize(tt, truth)
    best = min(range(len(history)), key=lambda i: history[i])
    print('best error {:.5f} at iteration {}'.format(history[best], best))


if __name__ == '__main__':
    main()
