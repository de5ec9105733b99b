import numpy as np
import torch

torch.manual_seed(0)
torch.set_printoptions(precision=4, sci_mode=False)


# %% model: rotation of a point cloud by three angles
def rotation(angles):
    a, b, c = angles
    one, zero = torch.ones(()), torch.zeros(())
    rx = torch.stack([one, zero, zero,
                      zero, torch.cos(a), -torch.sin(a),
                      zero, torch.sin(a), torch.cos(a)]).view(3, 3)
    ry = torch.stack([torch.cos(b), zero, torch.sin(b),
                      zero, one, zero,
                      -torch.sin(b), zero, torch.cos(b)]).view(3, 3)
    rz = torch.stack([torch.cos(c), -torch.sin(c), zero,
                      torch.sin(c), torch.cos(c), zero,
                      zero, zero, one]).view(3, 3)
    return rz @ ry @ rx


# %% data
cloud = torch.randn(40, 3)
true_angles = torch.tensor([0.4, -0.3, 0.7])
target = cloud @ rotation(true_angles).t() + 0.01 * torch.randn(40, 3)


# %% chain rule by hand
def loss_and_upstream(R):
    residual = cloud @ R.t() - target
    loss = (residual ** 2).mean()
    dLdR = 2.0 / residual.numel() * residual.t() @ cloud
    return loss, dLdR


def grad_einsum(dLdR, dRda):
    return torch.einsum('jk,jki->i', dLdR, dRda)


def grad_by_component(dLdR, dRda):
    parts = []
    for i in range(3):
        parts.append((dLdR * dRda[:, :, i]).sum())
    return torch.stack(parts)


# %% fit
angles = torch.zeros(3)
lr = 0.8
gaps = []
for it in range(40):
    R = rotation(angles)
    dRda = torch.autograd.functional.jacobian(rotation, angles)
    loss, dLdR = loss_and_upstream(R)

    fast = grad_einsum(dLdR, dRda)
    slow = grad_by_component(dLdR, dRda)
    gaps.append((fast - slow).abs().max().item())
    if it % 10 == 0:
        print('iter %2d  loss %.5f' % (it, loss.item()))
        print('   einsum       ', fast)
        print('   by component ', slow)

    angles = angles - lr * fast

# %% result
print('angles', angles, 'true', true_angles)
print('largest gap between the two gradients: %.6f' % np.max(gaps))
if np.max(gaps) > 1e-4:
    print('the two gradients disagree')
else:
    print('the two gradients agree')
