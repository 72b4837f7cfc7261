"""The learner: fits the network to batches of self-play positions.

A step splits its batch into a fixed number of parts, one copy of the network a part, and adds up their gradients in
order. The parts can be computed by as many threads as there are; what comes out is the same, bit for bit, for any
number of them.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from env.encoding import action_symmetries, square_symmetries
from models.network import Output, PolicyValueNet
from training.config import LearnerConfig
from training.muon import Muon
from training.replay import Batch

SYMMETRIES = 8
ADAM_AND_MUON = (("step", "exp_avg", "exp_avg_sq"), ("momentum",))  # what optimisers remember of a weight
UNLISTED = -1e9  # logit of no action: finite, since 0 times infinity is no number
METRICS: tuple[str, ...] = (
    "losses/policy",
    "losses/value",
    "losses/outlook",
    "policy/entropy",
    "policy/target_entropy",
)


class LearnerError(ValueError):
    """Learning cannot go on; the message is one sentence for people."""


class Learner:
    """A network that learns, its optimiser and its averaged weights.

    The loss of a batch is the policy's cross-entropy, taken over the listed actions only, plus the weighted squared
    error of the value and cross-entropy of the outlook. Positions are seen in a random one of their eight symmetries.
    Weights decay (AdamW, Loshchilov and Hutter 2019, "Decoupled weight decay regularization"); scales and biases do
    not. With `muon_rate` the convolutions that see neighbours are learnt by `training.muon`.

    Args:
        network: learns in place.
        config: the settings.
        device: where, as torch names it.
        seed: of the symmetries.

    Attributes:
        network: the network that learns.
        average: the network with the moving average of its weights, which plays better (Izmailov et al. 2018,
            "Averaging weights leads to wider optima and better generalization"); in evaluation mode.
        steps: optimiser steps made.
    """

    def __init__(
        self, network: PolicyValueNet, config: LearnerConfig, device: torch.device | str = "cpu", seed: int = 0
    ) -> None:
        self.config = config
        self.device = torch.device(device)
        self.network = network.to(self.device).train().requires_grad_(True)
        self.average = copy.deepcopy(network).eval().requires_grad_(False)
        self.steps = 0
        self.bfloat16 = config.precision == "bfloat16" or (
            config.precision == "auto" and self.device.type == "cuda" and torch.cuda.is_bf16_supported()
        )
        self._parameters = dict(network.named_parameters())
        # The copies share the weights and have statistics of their own.
        shared = {id(parameter): parameter for parameter in self._parameters.values()}
        self._replicas = [network, *(copy.deepcopy(network, dict(shared)) for _ in range(config.parts - 1))]
        spatial = [p for p in shared.values() if p.ndim == 4 and p.shape[2] > 1] if config.muon_rate else []
        others = [p for key, p in shared.items() if key not in set(map(id, spatial))]
        self._optimisers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(
                [
                    {"params": [p for p in others if p.ndim > 1], "weight_decay": config.weight_decay},
                    {"params": [p for p in others if p.ndim <= 1], "weight_decay": 0.0},
                ],
                lr=config.learning_rate,
                fused=True,
            )
        ]
        for parameter in others:  # what AdamW would make in its first step, there from the start for `state`
            self._optimisers[0].state[parameter] = {
                "step": torch.zeros((), device=self.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        if spatial:
            self._optimisers.append(Muon(spatial, config.muon_rate))
        self._symmetries = torch.Generator().manual_seed(seed)
        self._turn = Symmetries(network.size, self.device)

    def step(self, batch: Batch, pool: Executor | None = None) -> dict[str, float]:
        """Make one optimiser step.

        Args:
            batch: the positions; at least as many as there are parts.
            pool: its threads compute the parts; None: this thread, one after the other.

        Returns:
            Means over the batch, in nats where they are entropies: "losses/policy", "losses/value", "losses/outlook",
            "policy/entropy" (of the network, over the listed actions), "policy/target_entropy", "policy/kl" (target
            to network); and "learner/gradient_norm" before it is cut, "learner/learning_rate".

        Raises:
            LearnerError: when a loss or the gradient is not finite; then no step is made, but the statistics of the
                normalisation may be spoilt.
        """
        symmetries = torch.randint(SYMMETRIES, (len(batch.value),), generator=self._symmetries)
        tensors = (symmetries, *map(torch.from_numpy, batch))
        parts = list(zip(*(tensor.tensor_split(self.config.parts) for tensor in tensors)))
        scale = (len(batch.value), max(float(batch.policy_weight.sum()), 1e-6))
        if pool is None:
            results = [self._part(replica, part, scale) for replica, part in zip(self._replicas, parts)]
        else:
            jobs = [pool.submit(self._part, replica, part, scale) for replica, part in zip(self._replicas, parts)]
            results = [job.result() for job in jobs]
        with one_thread(), torch.no_grad():
            return self._update([gradients for gradients, _ in results], [sums for _, sums in results])

    def settle(self, batch: Batch) -> None:
        """Measure the normalisation's statistics anew, for the averaged weights (Izmailov et al. 2018, section 3.2).

        Until then they are those of the weights that learn, which the average never had: it plays worse with them
        (docs/LOG.md).

        Args:
            batch: positions such as are learnt from; a thousand do.
        """
        norms = [module for module in self.average.modules() if isinstance(module, torch.nn.BatchNorm2d)]
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.train()
            norm.momentum = 1.0  # the batch's statistics, and nothing of what was there
        symmetries = torch.randint(SYMMETRIES, (len(batch.value),), generator=self._symmetries)
        tensors = (symmetries, torch.from_numpy(batch.inputs), torch.from_numpy(batch.actions))
        try:
            with one_thread(), torch.no_grad():
                inputs, actions = self._turn(*(tensor.to(self.device) for tensor in tensors))
                self.average(inputs, actions.clamp(min=0))
        finally:
            for norm, momentum in zip(norms, momenta):
                norm.eval()
                norm.momentum = momentum

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a later `restore` needs to go on bit for bit, copied."""
        state = {name: tensor.detach().cpu().contiguous().numpy().copy() for name, tensor in self._tensors().items()}
        return state | {"symmetries": self._symmetries.get_state().numpy(), "steps": np.array(self.steps)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a `state` of a learner of the same network.

        Weights that another optimiser learnt there (`muon_rate`) begin with an optimiser that remembers nothing.

        Raises:
            LearnerError: if it is of another network; the learner is then as it was.
        """
        tensors = self._tensors()
        state = self._without_others(state, tensors)
        expected = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        expected |= {"symmetries": tuple(self._symmetries.get_state().shape), "steps": ()}
        found = {name: array.shape for name, array in state.items()}
        for name in sorted(expected.keys() | found.keys()):
            if expected.get(name) != found.get(name):
                raise LearnerError(
                    f"the learner's state is of another network: {name} has shape {found.get(name, 'none')}, "
                    f"expected is {expected.get(name, 'none')}."
                )
        with torch.no_grad():
            for name, tensor in tensors.items():
                tensor.copy_(torch.from_numpy(state[name]))
        self._symmetries.set_state(torch.from_numpy(state["symmetries"]))
        self.steps = int(state["steps"])
        self._share_statistics()

    def _tensors(self) -> dict[str, Tensor]:
        """All tensors that change, by name."""
        tensors = {f"network/{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"average/{name}": tensor for name, tensor in self.average.state_dict().items()}
        for name, parameter in self._parameters.items():
            for optimiser in self._optimisers:
                if parameter in optimiser.state:
                    tensors |= {f"optimiser/{name}/{key}": each for key, each in optimiser.state[parameter].items()}
        return tensors

    def _without_others(self, state: Mapping[str, np.ndarray], tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
        """A state in which what the other optimiser remembered of a weight is replaced by zeros for its own."""
        state = dict(state)
        for name in self._parameters:
            prefix = f"optimiser/{name}/"
            own = {key for key in tensors if key.startswith(prefix)}
            found = {key for key in state if key.startswith(prefix)}
            memories = [{prefix + key for key in keys} for keys in ADAM_AND_MUON]
            if found != own and found in memories and own in memories:
                state = {key: array for key, array in state.items() if key not in found}
                state |= {key: np.zeros(tensors[key].shape, np.float32) for key in own}
        return state

    def _part(
        self, replica: PolicyValueNet, part: tuple[Tensor, ...], scale: tuple[int, float]
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """Gradients and the sums of METRICS of a part of a batch, both scaled to add up to the batch's means."""
        with one_thread():
            symmetries, inputs, actions, probs, policy_weight, value, outlook = (each.to(self.device) for each in part)
            inputs, actions = self._turn(symmetries, inputs, actions)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
                features = replica.tower(inputs)
            output = replica.heads(features.float(), actions.clamp(min=0))
            sums = _sums(output, actions, probs, policy_weight / scale[1], value, outlook, scale[0])
            config = self.config
            loss = sums[0] + config.value_weight * sums[1] + config.outlook_weight * sums[2]
            # Not backward(): the parts share the weights, and would race for where it adds gradients up.
            return torch.autograd.grad(loss, list(self._parameters.values())), sums.detach()

    def _update(self, gradients: list[tuple[Tensor, ...]], sums: list[Tensor]) -> dict[str, float]:
        parameters = list(self._parameters.values())
        for parameter, parts in zip(parameters, zip(*gradients)):
            parameter.grad = add_up(parts)
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, self.config.gradient_clip))
        metrics = dict(zip(METRICS, add_up(sums).tolist()))
        metrics["policy/kl"] = metrics["losses/policy"] - metrics["policy/target_entropy"]
        metrics["learner/gradient_norm"] = norm
        if broken := [name for name, number in metrics.items() if not math.isfinite(number)]:
            raise LearnerError(
                f"learning broke down in step {self.steps + 1}: {', '.join(broken)} became infinite or no number; "
                "a lower learner.learning_rate may help."
            )
        self.steps += 1
        metrics["learner/learning_rate"] = rate_at(self.steps, self.config.learning_rate, self.config)
        for optimiser, full in zip(self._optimisers, (self.config.learning_rate, self.config.muon_rate)):
            for group in optimiser.param_groups:
                group["lr"] = rate_at(self.steps, full, self.config)
            optimiser.step()
        for parameter in parameters:
            parameter.grad = None
        self._average_statistics()
        # The first steps are averaged over fewer, or the average would long remember the random start.
        decay = min(self.config.ema_decay, self.steps / (self.steps + 10))
        for averaged, parameter in zip(self.average.parameters(), parameters):
            averaged.lerp_(parameter, 1 - decay)
        # Until `settle`: the statistics are averages already; averaging them again only makes them late.
        for averaged, tensor in zip(self.average.buffers(), self.network.buffers()):
            averaged.copy_(tensor)
        return metrics

    def _average_statistics(self) -> None:
        """Give all copies the mean of their normalisation statistics."""
        for tensor, *others in zip(*(replica.buffers() for replica in self._replicas)):
            if tensor.is_floating_point():
                tensor.copy_(add_up((tensor, *others)) / (len(others) + 1))
        self._share_statistics()

    def _share_statistics(self) -> None:
        for tensor, *others in zip(*(replica.buffers() for replica in self._replicas)):
            for other in others:
                other.copy_(tensor)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with one thread in this thread: sums are then always added up in the same order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def rate_at(step: int, full: float, config: LearnerConfig) -> float:
    """Return the rate of the `step`th step, from 1 on: up to `full` in a line, then level, then down as 1 / sqrt(step).

    The fall is that of Vaswani et al. 2017, "Attention is all you need", section 5.3: it need not know when a run ends.
    """
    rate = full * min(1.0, step / (config.warmup_steps + 1))
    return rate * min(1.0, math.sqrt(config.decay_steps / step)) if config.decay_steps else rate


class Symmetries:
    """Positions and actions seen in one of their eight symmetries, on a device."""

    def __init__(self, size: int, device: torch.device) -> None:
        # A square's new piece comes from where the symmetry takes it from.
        self._origin = torch.from_numpy(np.argsort(square_symmetries(size), axis=1)).to(device)
        self._action = torch.from_numpy(action_symmetries(size).astype(np.int64)).to(device)

    def __call__(self, symmetries: Tensor, inputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Turn each row in its own way.

        Args:
            symmetries: int64 [B], 0 to 7; 0 changes nothing.
            inputs: int8 [B, S+3], rows of `env.encoding`.
            actions: int16 [B, K], action numbers; -1 for none.

        Returns:
            The inputs, int8 [B, S+3], and the actions, int64 [B, K], -1 where there was none.
        """
        squares = self._origin.shape[1]
        board = inputs[:, :squares].gather(1, self._origin[symmetries])
        turned = self._action[symmetries[:, None], actions.long().clamp(min=0)]
        return torch.cat((board, inputs[:, squares:]), dim=1), turned.masked_fill(actions < 0, -1)


def add_up(tensors: Sequence[Tensor]) -> Tensor:
    """Their sum, added up in order."""
    return functools.reduce(torch.add, tensors)


def _sums(
    output: Output,
    actions: Tensor,
    probs: Tensor,
    policy_weight: Tensor,
    value: Tensor,
    outlook: Tensor,
    batch: int,
) -> Tensor:
    """METRICS of some positions, float32 [5], the policy's weighted by `policy_weight`, the others divided by `batch`.

    Args:
        output: of the network for B positions and these actions.
        actions: int64 [B, K], action numbers; -1 where none is listed.
        probs: float32 [B, K], the policy's targets; 0 where none is listed.
        policy_weight: float32 [B].
        value: float32 [B], targets.
        outlook: float32 [B, 3], targets.
        batch: of how many positions these are a part.
    """
    log_policy = output.logits.masked_fill(actions < 0, UNLISTED).log_softmax(1)
    cross_entropy = -(probs * log_policy).sum(1)
    entropy = -(log_policy.exp() * log_policy).sum(1)
    target_entropy = -torch.xlogy(probs, probs).sum(1)
    return torch.stack(
        (
            policy_weight @ cross_entropy,
            F.mse_loss(output.value, value, reduction="sum") / batch,
            -(outlook * output.wdl.log_softmax(1)).sum() / batch,
            policy_weight @ entropy.detach(),
            policy_weight @ target_entropy,
        )
    )
