"""PPO: several epochs over the minibatches of a rollout, an early stop, a learning rate set by hand."""

# right
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        self.actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2, eps=1e-5)
num_updates, num_steps, minibatch = 4, 32, 8
for update in range(1, num_updates + 1):
    frac = 1.0 - (update - 1.0) / num_updates
    optimizer.param_groups[0]["lr"] = frac * 1e-2
    b_obs = torch.randn(num_steps, 4)
    with torch.no_grad():
        b_actions, b_logprobs, _, b_values = agent.get_action_and_value(b_obs)
    b_returns = torch.randn(num_steps)
    b_adv = b_returns - b_values.flatten()
    b_inds = np.arange(num_steps)
    clipfracs = []
    for epoch in range(6):
        np.random.shuffle(b_inds)
        for start in range(0, num_steps, minibatch):
            mb = b_inds[start : start + minibatch]
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions.long()[mb])
            logratio = newlogprob - b_logprobs[mb]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > 0.2).float().mean().item()]
            mb_adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
            pg_loss = torch.max(-mb_adv * ratio, -mb_adv * torch.clamp(ratio, 0.8, 1.2)).mean()
            v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb]) ** 2).mean()
            loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
        if approx_kl > 0.02:
            break
    print(update, epoch, v_loss.item(), pg_loss.item())
