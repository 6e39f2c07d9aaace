"""The PettingZoo AEC environment: `env` with the usual wrappers, `raw_env` without, and faster."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from chinese_ten_env.bits import EMPTY, ONE, U64
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import (
    GAME,
    NOBODY,
    OVER,
    IllegalActionError,
    begin_batch,
    begin_batch_with_decks,
    blank_games,
    illegal_action,
    parse_deal,
    play_card,
    seed_array,
)
from chinese_ten_env.jit import entry_point, kernel
from chinese_ten_env.observation import (
    NUM_FEATURES,
    OBSERVATION_SHAPE,
    observe_game,
    stock_size,
    write_rows,
)
from chinese_ten_env.render.board import board
from chinese_ten_env.render.modes import FPS, MODES, Screen, warn_of_no_mode
from chinese_ten_env.rewards import illegal_action_reward, potential, reward_number
from chinese_ten_env.rules import HAND_CARDS, MAX_PLAYERS, SWITCHES, make_rules, unknown_choice

METADATA: dict[str, Any] = {
    "name": "chinese_ten_v0",
    "render_modes": list(MODES),
    "is_parallelizable": False,
    "render_fps": FPS,
}

ONLY: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
"""The index of the game of a batch of one."""

STATE_SHAPE = (MAX_PLAYERS + HAND_CARDS + NUM_FEATURES, NUM_CARDS)
"""Of `state`: all hands, the stock card by card, and the observation of seat 0."""


_DRAWN = (None, np.full(1, NOBODY, dtype=np.int64))  # the deal of a reset without options
_INT8 = np.dtype(np.int8)
_SEEN_SHAPE = (NUM_FEATURES + 1, NUM_CARDS)  # an observation and its mask
_OBSERVATION = slice(0, NUM_FEATURES)
_ILLEGAL = -1
_OVER, _PAID = 16, 32  # added to the player on turn


_ROWS = NUM_FEATURES + 1
_SCRATCH = _ROWS + 2 * MAX_PLAYERS  # 64-bit words: rows of an observation, and payments


@kernel
def _step(games: Any, card: int, reward: int, scratch: Any, out: Any) -> int:
    """Play a card in games[0] if it is legal, observe, and tell in one number what came of it.

    The payments in `scratch`, float64 [2, 4], hold the potential of each player, and become their
    changes in the second row. `out` becomes what the player on turn sees, as by `observe_game`:
    it is asked for next, and a call from Python costs more than all that is done here.
    """
    game = games[0]
    if card < 0 or game.legal & (ONE << U64(card)) == EMPTY:
        return _ILLEGAL
    play_card(game, card)
    result = game.player + (_OVER if game.phase == OVER else 0)
    payments = scratch[_ROWS:].view(np.float64)
    for player in range(game.num_players):
        value = potential(game, player, reward)
        change = value - payments[player]
        payments[player], payments[MAX_PLAYERS + player] = value, change
        if change != 0.0:
            result |= _PAID
    observe_game(games, game.player, scratch[:_ROWS], out)
    return result


def _entry_points() -> tuple[Any, Any]:
    """Return the machine code of `_step` and `observe_game` for the arrays of an environment."""
    games, scratch = np.empty(2, dtype=GAME), np.empty(_SCRATCH, dtype=np.uint64)
    out = np.empty(_SEEN_SHAPE, dtype=_INT8)
    step = entry_point(_step, games, 0, 0, scratch, out)
    return step, entry_point(observe_game, games, 0, scratch[:_ROWS], out)


@kernel
def _write_state(games: Any, rows: Any, out: Any) -> None:
    """Write the hidden rows of `state` to `out` [S, 52]."""
    game = games[0]
    for seat in range(MAX_PLAYERS):
        rows[seat] = game.hands[seat]
    left = stock_size(game)
    for place in range(HAND_CARDS):
        known = place < left
        card = ONE << U64(game.deck[NUM_CARDS - left + place]) if known else EMPTY
        rows[MAX_PLAYERS + place] = card
    write_rows(rows, out, 0)


class ChineseTenAEC(AECEnv[str, dict[str, Any], Any]):
    """Chinese Ten for two to four agents, one decision at a time.

    **Description.** Agents ``player_0`` .. ``player_{P-1}`` sit in seat order and capture cards
    from the table, in the variant and with the switches given; the README prints the rules. A turn
    asks its player for one to three decisions.

    **Action space.** ``Discrete(52)``: always a card. On turn the hand card to play; when the card
    just played or just flipped can take several table cards, the one to take.

    **Observation space.** ``{"observation": Box int8 [F, 52], "action_mask": Box int8 [52]}``, rows
    as in `Feature`. The mask is all zeros for an agent that is not on turn, and at the end.
    `state()` is int8 [S, 52]: the hands of seats 0 to 3, the stock from the top card on, one card a
    row, and the observation of seat 0.

    **Rewards.** ``reward="net"``: points less par at the end of each deal. ``"captures"``: at every
    decision the change of own points less the mean of all. ``"win"``: 1, 0 or -1 at the end.

    **End.** All agents terminate together when the deal, or the match, is over. An illegal action
    raises `IllegalActionError`, a ValueError, and changes nothing; `env()` instead ends the game,
    pays the agent -(all points and levies) (-1 with ``"win"``) and the others 0.

    **Arguments.** ``reset(seed=..., options={"deck": 52 cards, top first, "dealer": seat})``. The
    same seed gives the same game everywhere; ``reset()`` without one deals on from where the
    generator stands. Unknown options are ignored, bad values raise ValueError.

    **Render modes.** ``"human"``: a window; ``"rgb_array"``: pixels; ``"svg"``; ``"ansi"``: text.
    The first two need the extra ``render``.

    **Versions.** v0: the first.
    """

    metadata = METADATA

    # The machine code, found at the first reset; of the class, so that no copy of a game holds it.
    _run_step: Any = None
    _run_observe: Any = None

    def __init__(
        self,
        variant: str = "mainland",
        num_players: int | None = None,
        render_mode: str | None = None,
        reward: str = "net",
        match: str = "deal",
        target: int | None = None,
        capture: str = "card",
        **switches: Any,
    ) -> None:
        super().__init__()
        check_names("argument", switches, SWITCHES, ENV_ARGUMENTS)
        self.rules = make_rules(
            variant, num_players, match=match, target=target, capture=capture, **switches
        )
        self.reward = reward
        self._reward = reward_number(reward)
        self.render_mode = render_mode
        self._screen = Screen(render_mode)
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.num_players)]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {
            agent: observation_dict_space() for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(NUM_CARDS) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 1, STATE_SHAPE, np.int8)
        self._games = blank_games(self.rules, 2)  # the game, and scratch for views of it
        self._scratch = np.zeros(_SCRATCH, dtype=np.uint64)
        self._seen: npt.NDArray[np.int8] | None = None
        """What the agent on turn sees, from the last step, until it is asked for."""
        self._paying = False  # whether the last step paid anything
        self._seeded = False
        self._closed = False
        self._open = False  # whether a step may be taken

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of `observe`, the same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of actions, the same object at each call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game; ValueError names a bad seed, deck or dealer."""
        self._check_open()
        game = self._games[:1]
        decks, dealers = parse_deal(game, ONLY, *deal_options(options)) if options else _DRAWN
        if seed is not None or not self._seeded:
            game["rng"] = seed_array(random_seed() if seed is None else seed, 1)
            self._seeded = True
        if decks is None:
            begin_batch(game, ONLY, dealers)
        else:
            begin_batch_with_decks(game, ONLY, dealers, decks)
        self._scratch[:] = 0
        self._seen = None
        self._paying = False
        self._open = True
        if self._run_step is None:
            step, observe = _entry_points()
            ChineseTenAEC._run_step = staticmethod(step)
            ChineseTenAEC._run_observe = staticmethod(observe)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[self._games["player"][0]]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees, at any time and freshly made; has no side effect."""
        if self._seen is not None and agent == self.agent_selection:
            out, self._seen = self._seen, None
        else:
            if not self._seeded:
                self._check_running()
            out = np.empty(_SEEN_SHAPE, _INT8)
            self._run_observe(self._games, self._seats[agent], self._scratch[:_ROWS], out)
        if self.terminations.get(agent, True):
            out[NUM_FEATURES] = 0  # an illegal action has ended the game in the middle of a turn
        return {"observation": out[_OBSERVATION], "action_mask": out[NUM_FEATURES]}

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, reward since its last action, ends and infos of the agent on turn."""
        agent, seen = self.agent_selection, self._seen
        if not observe or seen is None or self.terminations[agent]:
            return super().last(observe)
        # The usual case, without the detour over `observe`.
        self._seen = None
        return (
            {"observation": seen[_OBSERVATION], "action_mask": seen[NUM_FEATURES]},
            self._cumulative_rewards[agent],
            False,
            False,
            self.infos[agent],
        )

    def state(self) -> npt.NDArray[np.int8]:
        """Return everything, hidden cards included, int8 [S, 52]."""
        self._check_running()
        hidden = MAX_PLAYERS + HAND_CARDS
        out = np.empty((STATE_SHAPE[0] + 1, NUM_CARDS), dtype=np.int8)
        _write_state(self._games, np.empty(hidden, dtype=np.uint64), out)
        observe_game(self._games, 0, self._scratch[:_ROWS], out[hidden:])
        return out[:-1]

    def step(self, action: Any) -> None:
        """Play the action of the agent on turn; a dead agent's is None."""
        if not self._open:
            self._check_running()
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        try:
            card = operator.index(action)
        except TypeError:
            raise IllegalActionError(
                f"an action is an integer from 0 to {NUM_CARDS - 1}, not {action!r}"
            ) from None
        if not 0 <= card < NUM_CARDS:
            card = -1  # a kernel takes no integer of more than 64 bits
        out = np.empty(_SEEN_SHAPE, _INT8)
        result = self._run_step(self._games, card, self._reward, self._scratch, out)
        if result == _ILLEGAL:
            raise IllegalActionError(illegal_action(action, int(self._games["legal"][0])))
        self._seen = out
        self._cumulative_rewards[agent] = 0.0
        if result & _PAID:
            changes = self._scratch[_ROWS + MAX_PLAYERS :].view(np.float64).tolist()
            self.rewards = dict(zip(self.possible_agents, changes, strict=False))
            self._accumulate_rewards()
            self._paying = True
        elif self._paying:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._paying = False
        self.agent_selection = self.possible_agents[result % _OVER]
        if result & _OVER:
            self.terminations = dict.fromkeys(self.agents, True)
            self._seen = None  # the agents that are asked next are others
            self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def render(self, agent: str | None = None) -> Any:
        """Show the board in the render mode, to spectators with all hands, or as an agent sees it.

        Returns uint8 [600, 800, 3] with ``"rgb_array"``, a string with ``"svg"`` and ``"ansi"``,
        and None with ``"human"``, where every reset and step shows the board by itself.
        """
        if self.render_mode is None:
            warn_of_no_mode("env()")
            return None
        self._check_running()
        viewer = None if agent is None else self._seats[agent]
        return self._screen.show(board(self._games, self.rules, viewer))

    def close(self) -> None:
        """Close the environment: it can be neither reset nor stepped any more."""
        self._closed, self._open = True, False
        self._screen.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the environment is closed; make a new one")

    def _check_running(self) -> None:
        self._check_open()
        if not self._seeded:
            raise RuntimeError("no game has begun: call reset() first")


ENV_ARGUMENTS = (
    "variant",
    "num_players",
    "render_mode",
    "reward",
    "match",
    "target",
    "capture",
)
"""The named arguments of `env` and `raw_env`; the other switches of `make_rules` are taken too."""


def check_names(kind: str, given: Any, *choices: tuple[str, ...]) -> None:
    """Raise TypeError for the first name that is none of the choices, naming them."""
    known = tuple(dict.fromkeys(name for names in choices for name in names))
    for name in given:
        if name not in known:
            raise TypeError(str(unknown_choice(kind, name, known)))


def observation_dict_space() -> spaces.Dict:
    """Return the space of an observation with its mask."""
    return spaces.Dict(
        {
            "observation": spaces.Box(0, 1, OBSERVATION_SHAPE, np.int8),
            "action_mask": spaces.Box(0, 1, (NUM_CARDS,), np.int8),
        }
    )


def random_seed() -> int:
    """Return a seed from the operating system."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def deal_options(options: dict[str, Any] | None) -> tuple[Any, Any]:
    """Return the deck and the dealer of ``reset(options=...)``, None where not given."""
    options = options or {}
    return options.get("deck"), options.get("dealer")


raw_env = ChineseTenAEC
"""The environment without wrappers: faster, and an illegal action raises."""


def env(*arguments: Any, **named: Any) -> AECEnv[str, dict[str, Any], Any]:
    """Return the environment with PettingZoo's wrappers, as `ChineseTenAEC` describes it.

    Arguments: ``variant="mainland"``, ``num_players=None`` (the smallest count of the variant),
    ``render_mode=None``, ``reward="net"``, ``match="deal"``, ``target=None`` (that of the kind of
    match), ``capture="card"``, and the other switches of `make_rules`.
    """
    raw = raw_env(*arguments, **named)
    penalty = illegal_action_reward(raw.rules, raw.reward)
    wrapped: Any = wrappers.TerminateIllegalWrapper(raw, illegal_reward=penalty)
    wrapped = wrappers.AssertOutOfBoundsWrapper(wrapped)
    return wrappers.OrderEnforcingWrapper(wrapped)
