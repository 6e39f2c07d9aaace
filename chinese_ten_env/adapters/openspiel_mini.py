"""The mini game of OpenSpiel, solved: ``python -m chinese_ten_env.adapters.openspiel_mini``.

It prints the size of the game and how exploitable are random play, ``greedy`` and what CFR has
found, in net points a deal, exactly. `DecisionTree` does the same for programs, and for any other
game of `openspiel` that is small enough to be walked through.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

try:
    import pyspiel
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "chinese_ten_env.adapters.openspiel_mini needs OpenSpiel: pip install "
        "'chinese_ten_env[openspiel]'"
    ) from error

from chinese_ten_env.adapters.openspiel import MINI, LibraryPolicy

_Node = float | list[str]
"""What a state comes to: what player 0 wins on average where nobody has a choice left, else lines
of a tree in Gambit's format, https://gambitproject.readthedocs.io/en/latest/formats.efg.html."""


class Sizes(NamedTuple):
    """The size of a game."""

    histories: int
    """All ends."""
    chance_nodes: int
    decisions: int
    information_states: int
    choices: int
    """The information states with more than one legal action."""


class DecisionTree:
    """A game for two without what nobody decides, for OpenSpiel's exact algorithms.

    Chinese Ten ends in moves that are forced and cards that are flipped. Where no choice is left,
    the mean of the ends takes the place of what follows, and a move without alternative is left
    out. Neither changes what any policy wins, or how exploitable it is; it makes the tree a
    fraction as large, and it is one of OpenSpiel's own, in C++.

    `game` is a game of `openspiel` or its text. Walking through it takes some 50 to 100
    microseconds a state. ValueError unless it is for two.
    """

    def __init__(self, game: Any = MINI) -> None:
        self.source = pyspiel.load_game(game) if isinstance(game, str) else game
        """The game as given."""
        if self.source.num_players() != 2:
            raise ValueError("a game for two is needed: exploitability is defined for no other")
        self._states: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}
        self._seen = [0, 0]
        self._forced: set[str] = set()
        self._ends = self._chances = self._decisions = self._outcomes = 0
        node = self._node(self.source.new_initial_state())
        head = 'EFG 2 R "Chinese Ten" { "player 0" "player 1" }'
        self.game = pyspiel.load_efg_game("\n".join([head, *self._lines(node)]) + "\n")
        """The tree as a game of OpenSpiel; its actions are named as in the source."""
        self.sizes = Sizes(
            self._ends,
            self._chances,
            self._decisions,
            len(self._states) + len(self._forced),
            len(self._states),
        )

    # --- policies and how good they are -----------------------------------------------------

    def policy(self, policy: Any, seed: int = 0) -> Any:
        """Return a policy of the library as a ``pyspiel.TabularPolicy`` of `game`.

        As `LibraryPolicy`: one that draws random numbers becomes a pure strategy.
        """
        library = LibraryPolicy(self.source, policy, seed)
        chosen = {}
        for name, state in self._states.items():
            odds = library.action_probabilities(state)
            chosen[name] = {state.action_to_string(card): p for card, p in odds.items()}
        table: dict[str, list[tuple[int, float]]] = {}
        waiting = [self.game.new_initial_state()]
        while waiting:
            state = waiting.pop()
            if state.is_terminal():
                continue
            if state.is_player_node():
                key = state.information_state_string()
                if key not in table:
                    odds = chosen[key.split("-", 3)[3]]  # players and number, then our own name
                    table[key] = [
                        (action, odds[state.action_to_string(action)])
                        for action in state.legal_actions()
                    ]
            waiting.extend(state.child(action) for action in state.legal_actions())
        return pyspiel.TabularPolicy(table)

    def random_policy(self) -> Any:
        """Return uniformly random play."""
        return pyspiel.UniformRandomPolicy(self.game)

    def exploitability(self, policy: Any) -> float:
        """Return the net points a deal that the best answers to a policy of `game` win from it.

        Exactly, and as the mean over both seats.
        """
        return float(pyspiel.exploitability(self.game, policy))

    def value(self, policy: Any) -> float:
        """Return the net points of player 0 if both play a policy of `game`."""
        root = self.game.new_initial_state()
        return float(pyspiel.expected_returns(root, policy, -1, True)[0])

    def solve(self, iterations: Iterable[int], plus: bool = False) -> Iterator[tuple[int, Any]]:
        """Yield (iterations, average policy) of CFR, or CFR+, after each of these numbers.

        The numbers ascend; the policies are ``pyspiel.TabularPolicy`` of `game`.
        """
        solver = pyspiel.CFRPlusSolver(self.game) if plus else pyspiel.CFRSolver(self.game)
        done = 0
        for wanted in iterations:
            for _ in range(wanted - done):
                solver.evaluate_and_update_policy()
            done = max(done, wanted)
            yield done, solver.tabular_average_policy()

    # --- the walk ---------------------------------------------------------------------------

    def _node(self, state: Any) -> _Node:
        player = state.current_player()
        if player == pyspiel.PlayerId.TERMINAL:
            self._ends += 1
            net: float = state.returns()[0]
            return net
        if player == pyspiel.PlayerId.CHANCE:
            self._chances += 1
            outcomes = state.chance_outcomes()
            nodes = [self._node(state.child(card)) for card, _ in outcomes]
            values = [node for node in nodes if isinstance(node, float)]
            if len(values) == len(nodes):
                return sum(p * value for (_, p), value in zip(outcomes, values, strict=True))
            odds = " ".join(f'"{state.action_to_string(card)}" {p!r}' for card, p in outcomes)
            return self._inner(f'c "" {self._chances} "" {{ {odds} }} 0', nodes)
        self._decisions += 1
        name = state.information_state_string()
        actions = state.legal_actions()
        if len(actions) == 1:
            self._forced.add(name)
            return self._node(state.child(actions[0]))
        if name not in self._numbers:
            self._seen[player] += 1
            self._numbers[name], self._states[name] = self._seen[player], state
        number = self._numbers[name]
        names = " ".join(f'"{state.action_to_string(card)}"' for card in actions)
        nodes = [self._node(state.child(card)) for card in actions]
        return self._inner(f'p "" {player + 1} {number} "{name}" {{ {names} }} 0', nodes)

    def _inner(self, line: str, nodes: list[_Node]) -> list[str]:
        return [line, *(line for node in nodes for line in self._lines(node))]

    def _lines(self, node: _Node) -> list[str]:
        if isinstance(node, list):
            return node
        self._outcomes += 1
        return [f't "" {self._outcomes} "" {{ {node!r} {-node!r} }}']


def main(arguments: list[str] | None = None) -> None:
    """Solve a game and print the numbers."""
    parser = argparse.ArgumentParser(description="How exploitable policies are in the mini game.")
    parser.add_argument("--game", default=MINI, help="the game, as pyspiel.load_game takes it")
    parser.add_argument("--iterations", type=int, default=1000, help="iterations of CFR")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    tree = DecisionTree(chosen.game)
    print(tree.source)
    for name, size in tree.sizes._asdict().items():
        print(f"{name.replace('_', ' '):20}{size:10,}")
    print(f"{'walked through in':20}{time.perf_counter() - start:10.1f} s\n")
    print("net points a deal          exploitability")
    print(f"{'uniform random':27}{tree.exploitability(tree.random_policy()):14.4f}")
    print(f"{'greedy':27}{tree.exploitability(tree.policy('greedy')):14.4f}")
    steps = tuple(10**k for k in range(1, 10) if 10**k < chosen.iterations)
    for plus in (False, True):
        for done, policy in tree.solve((*steps, chosen.iterations), plus):
            what = f"CFR{'+' * plus}, {done:,} iterations"
            print(f"{what:27}{tree.exploitability(policy):14.4f}", flush=True)
    print(f"\n{'value for player 0':27}{tree.value(policy):14.4f}")
    print(f"{'seconds in all':27}{time.perf_counter() - start:14.1f}")


if __name__ == "__main__":
    main()
