"""A policy gradient: the loss is an expression, not a criterion, and its batches are episodes of one length."""
# right

import argparse

import torch
from torch import nn


def episode(policy, length):
    states = torch.randn(length, 3)
    choices = torch.distributions.Categorical(logits=policy(states))
    actions = choices.sample()
    rewards = (actions == 0).float() * states[:, 0]
    advantages = rewards - rewards.mean()
    return -(choices.log_prob(actions) * advantages).mean() - 0.01 * choices.entropy().mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes-per-update", type=int, default=4)
    parser.add_argument("--updates", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(options.updates):
        optimizer.zero_grad()
        for _ in range(options.episodes_per_update):
            loss = episode(policy, length=6)
            (loss / options.episodes_per_update).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
