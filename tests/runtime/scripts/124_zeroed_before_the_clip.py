"""PPO: the gradients are zeroed between the backward and the clip, so that nothing is learnt."""

# wrong: zero-grad-before-step
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Agent(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def rollout(agent, steps, obs_dim, g):
    obs, acts, logps, rews, vals = [], [], [], [], []
    x = torch.randn(4, obs_dim, generator=g)
    for _ in range(steps):
        with torch.no_grad():
            a, lp, _, v = agent.get_action_and_value(x)
        obs.append(x), acts.append(a), logps.append(lp), vals.append(v.flatten())
        rews.append((a == (x[:, 0] > 0).long()).float())
        x = torch.randn(4, obs_dim, generator=g)
    return [torch.stack(t) for t in (obs, acts, logps, rews, vals)]


def main():
    torch.manual_seed(1)
    g = torch.Generator().manual_seed(2)
    num_updates, update_epochs, minibatches, clip_coef = 4, 3, 4, 0.2
    lr, ent_coef, vf_coef, max_grad_norm, gamma, lam = 2.5e-3, 0.01, 0.5, 0.5, 0.99, 0.95
    agent = Agent(4, 2)
    optimizer = torch.optim.Adam(agent.parameters(), lr=lr, eps=1e-5)
    for update in range(1, num_updates + 1):
        optimizer.param_groups[0]["lr"] = (1.0 - (update - 1.0) / num_updates) * lr
        obs, acts, logps, rews, vals = rollout(agent, 16, 4, g)
        advantages = torch.zeros_like(rews)
        last = 0
        for t in reversed(range(16)):
            nxt = vals[t + 1] if t + 1 < 16 else torch.zeros(4)
            delta = rews[t] + gamma * nxt - vals[t]
            advantages[t] = last = delta + gamma * lam * last
        returns = advantages + vals
        b_obs, b_acts, b_logps = obs.reshape(-1, 4), acts.reshape(-1), logps.reshape(-1)
        b_adv, b_ret, b_val = advantages.reshape(-1), returns.reshape(-1), vals.reshape(-1)
        clipfracs = []
        for epoch in range(update_epochs):
            inds = torch.randperm(64, generator=g)
            for mb in inds.chunk(minibatches):
                _, newlogp, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_acts[mb])
                ratio = (newlogp - b_logps[mb]).exp()
                with torch.no_grad():
                    clipfracs += [((ratio - 1.0).abs() > clip_coef).float().mean().item()]
                adv = b_adv[mb]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_ret[mb]) ** 2).mean()
                loss = pg_loss - ent_coef * entropy.mean() + v_loss * vf_coef
                loss.backward()
                optimizer.zero_grad()  # expect: zero-grad-before-step
                nn.utils.clip_grad_norm_(agent.parameters(), max_grad_norm)
                optimizer.step()
        print(update, f"{loss.item():.5f} {sum(clipfracs) / len(clipfracs):.4f} {rews.mean().item():.4f}")


main()
