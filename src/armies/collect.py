"""Playing: the loop that turns the move network and the engine into transitions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from armies.attention import forced_attention
from armies.engine import PLANES, SUMMARY, Games
from armies.finite import require_finite
from armies.fused import FusedNetwork
from armies.network import MoveNetwork
from armies.paths import CollectPath
from armies.policy import forward, log_probabilities, sample
from armies.rollout import Masks, MoveLists, Rollout, pad_moves
from armies.setup_record import SetupRecord
from armies.stages import NO_TIMER, Timer
from armies.transfer import HostBuffers


class Collector:
    """Plays ``games`` with a network, on ``device``, the way ``path`` says."""

    def __init__(self, games: Games, path: CollectPath, device: torch.device, generator: torch.Generator) -> None:
        self.games = games
        self.path = path
        self.device = device
        self.generator = generator
        B, cells = games.count, games.variant.cells
        pinned = device.type == "cuda" and path.attention == "flash"
        self.host = HostBuffers(device, pinned)
        self.keeps_policy = path.keeps_policy(device.type)
        cells_shape = (cells, 2) if path.table else (PLANES, cells)
        self.observed = (self.host.empty(B, *cells_shape), self.host.empty(B, SUMMARY))
        self.mask = None if path.legal else self.host.empty(B, games.variant.actions)

    @torch.no_grad()
    def collect(
        self, network: MoveNetwork | FusedNetwork, steps: int, setups: SetupRecord, timer: Timer = NO_TIMER
    ) -> Rollout:
        """Play ``steps`` plies of every game; games that end restart.

        ``network`` has the number format of the path.
        """
        rollout = self._empty_rollout(steps)
        with forced_attention(self.path.attention):
            for t in range(steps):
                with timer.step():
                    self._step(network, rollout, t, setups, timer)
            rollout.values[-1] = self.value_now(network)  # what unfinished games look forward to
            rollout.acting[-1] = self.games.acting
        require_finite("value probabilities", rollout.values)
        return rollout

    def _step(
        self, network: MoveNetwork | FusedNetwork, rollout: Rollout, t: int, setups: SetupRecord, timer: Timer
    ) -> None:
        with timer.stage("env.observe", "environment"):
            self._observe()
        with timer.stage("env.observe copy", "environment"):
            observation = self._observation_to_device()
        with timer.stage("env.legal_mask", "environment"):
            host_legal = self._legal(rollout)
        with timer.stage("env.legal_mask copy", "environment"):
            legal = self._legal_to_device(host_legal)
        with timer.stage("move network forward", "network"):
            logits, value_logits = forward(network, self.path, observation, legal)
        with timer.stage("sampling", "loop"):
            log_probs = log_probabilities(logits, legal)
            require_finite("policy log-probabilities", log_probs.amax(-1))
            choices = sample(log_probs, self.path, self.generator)
        with timer.stage("observation store", "loop"):
            for store, part in zip(rollout.observations, observation, strict=True):
                store[t] = part
            if isinstance(rollout.legal, Masks):
                rollout.legal.mask[t] = legal
        with timer.stage("log-probability, value and acting bookkeeping", "loop"):
            rollout.choices[t] = choices
            rollout.log_probs[t] = log_probs.gather(1, choices[:, None]).squeeze(1)
            if self.keeps_policy and isinstance(rollout.legal, MoveLists):
                rollout.legal.log_probs.append(log_probs.cpu().numpy()[host_legal.numpy() >= 0])
            rollout.values[t] = value_logits.float().softmax(-1)
            rollout.acting[t] = self.games.acting
        with timer.stage("env.step copies", "environment"):
            actions = legal.gather(1, choices[:, None]).squeeze(1) if self.path.legal else choices
            host_actions = actions.to(torch.int32).cpu().numpy()
        with timer.stage("env.step", "environment"):
            outcome = self.games.step(host_actions)
        with timer.stage("finished-game bookkeeping", "loop"):
            rollout.ended[t] = outcome.ended
            rollout.reward[t] = outcome.reward
            rollout.plies[t] = outcome.plies
            setups.games_ended(self.games, outcome, rollout.acting[t])

    def _observe(self) -> None:
        cells, summary = (tensor.numpy() for tensor in self.observed)
        if self.path.table:
            self.games.tokens(out=cells)
        else:
            self.games.observe(out=cells)
        self.games.summary(out=summary)

    def _observation_to_device(self) -> tuple[Tensor, Tensor]:
        cells, summary = self.observed
        return self.host.to_device(cells), self.host.to_device(summary)

    def _legal(self, rollout: Rollout) -> Tensor:
        """The legal moves on the host: mask uint8 [B, A], or padded lists int64 [B, L]."""
        if self.mask is not None:
            self.games.legal_mask(out=self.mask.numpy())
            return self.mask
        offsets, actions = self.games.legal_list()
        assert isinstance(rollout.legal, MoveLists)
        rollout.legal.append(offsets, actions)
        return torch.from_numpy(pad_moves(offsets, actions))

    def _legal_to_device(self, host_legal: Tensor) -> Tensor:
        legal = self.host.to_device(host_legal)
        return legal if self.path.legal else legal.bool()

    @torch.no_grad()
    def value_now(self, network: MoveNetwork | FusedNetwork) -> Tensor:
        """Probabilities of (loss, tie, win) for the side to move, float32 [B, 3]; plays nothing."""
        self._observe()
        if self.mask is not None:
            self.games.legal_mask(out=self.mask.numpy())
            host_legal = self.mask
        else:
            host_legal = torch.empty(self.games.count, 0, dtype=torch.int64)  # no policy is asked for
        observation = self._observation_to_device()
        _, value_logits = forward(network, self.path, observation, self._legal_to_device(host_legal))
        return value_logits.float().softmax(-1)

    def _empty_rollout(self, T: int) -> Rollout:
        B = self.games.count
        cells, summary = self.observed
        # Planes are stored in bf16, as the loop of old did. All are small integers: exact in either format.
        number = torch.uint8 if self.path.table else torch.bfloat16
        return Rollout(
            observations=(
                torch.empty(T, *cells.shape, dtype=number, device=self.device),
                torch.empty(T, *summary.shape, dtype=number, device=self.device),
            ),
            legal=MoveLists()
            if self.path.legal
            else Masks(torch.empty(T, B, self.games.variant.actions, dtype=torch.bool, device=self.device)),
            choices=torch.empty(T, B, dtype=torch.int64, device=self.device),
            log_probs=torch.empty(T, B, device=self.device),
            values=torch.empty(T + 1, B, 3, device=self.device),
            acting=np.empty((T + 1, B), np.uint8),
            ended=np.empty((T, B), np.uint8),
            reward=np.empty((T, B), np.float32),
            plies=np.empty((T, B), np.int32),
        )
