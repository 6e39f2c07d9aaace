"""Play Chinese Ten slowly and plainly, to compare the library with.

Written from the rules text alone, with lists of card names ("AS", "TD"); it shares nothing with the
library. Where speed and clearness disagree, clearness wins.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

RANKS = "A23456789TJQK"
SUITS = "CDHS"
CARDS = [rank + suit for rank in RANKS for suit in SUITS]  # a card's id is its place in this list
CARD_ID = {name: number for number, name in enumerate(CARDS)}

TEN_PARTNER = {"A": "9", "2": "8", "3": "7", "4": "6", "6": "4", "7": "3", "8": "2", "9": "A"}
SAME_RANK = "5TJQK"  # these capture their own rank

NUM_ROWS = 30  # rows of an observation


def is_red(card: str) -> bool:
    """Tell whether a card is a diamond or a heart."""
    return card[1] in "DH"


def can_capture(card: str, other: str) -> bool:
    """Tell whether one card can take the other; suits never matter."""
    if card[0] in SAME_RANK:
        return other[0] == card[0]
    return other[0] == TEN_PARTNER[card[0]]


def red_points(ace: int, **black_aces: int) -> dict[str, int]:
    """List the points of all cards where red cards score, `ace` for a red ace."""
    points = {}
    for card in CARDS:
        if not is_red(card):
            points[card] = black_aces.get(card, 0)
        elif card[0] == "A":
            points[card] = ace
        elif card[0] in "2345678":
            points[card] = int(card[0])
        else:
            points[card] = 10  # 9, T, J, Q, K; a red nine is worth ten, not nine
    return points


def black_points() -> dict[str, int]:
    """List the points of all cards where black cards score, as in Thailand."""
    points = {}
    for card in CARDS:
        if is_red(card) or card == "AC":
            points[card] = 0
        elif card == "AS":
            points[card] = 50
        elif card[0] in "23456789":
            points[card] = int(card[0])  # here a nine is worth nine
        else:
            points[card] = 10
    return points


@dataclass(frozen=True)
class Variant:
    """One row of the table of variants."""

    points: dict[int, dict[str, int]]  # players -> card -> points; its keys are the player counts
    leader: str  # "left" of the dealer, or the "dealer"
    sweep_reverses: bool
    peek: str  # who knows the bottom card: "none", "dealer", or "last" (the seat before the leader)
    levy: int  # red-five levy, paid by each other player


RED = red_points(20)
RED_AS = red_points(20, AS=30)
RED_AS_AC = red_points(20, AS=30, AC=40)
LOW_ACES = red_points(10, AS=30)
BLACK = black_points()

VARIANTS = {
    "mainland": Variant({2: RED, 3: RED_AS, 4: RED_AS_AC}, "left", False, "none", 0),
    "taiwan": Variant({4: RED_AS}, "dealer", True, "dealer", 10),
    "taiwan_low_aces": Variant({2: LOW_ACES, 4: LOW_ACES}, "dealer", True, "dealer", 10),
    "gob_dum_gob_dang": Variant({2: BLACK, 3: BLACK, 4: BLACK}, "left", False, "none", 0),
    "g4a": Variant({3: RED_AS}, "left", False, "none", 0),
    "g4a_gob_dum_gob_dang": Variant({3: BLACK}, "left", False, "none", 0),
}

DEFAULT_TARGET = {"deal": None, "net": 100, "raw": 1000}


def settle(pile_points: Sequence[int], levy_player: int | None, levy: int) -> list[int]:
    """Return the points of a finished deal: pile points, and the levy moved to its player."""
    points = list(pile_points)
    if levy_player is not None:
        for seat in range(len(points)):
            if seat != levy_player:
                points[seat] -= levy
                points[levy_player] += levy
    return points


def match_sums(totals: Sequence[int], deals: int, match: str, par: Fraction) -> list[Fraction]:
    """Return what a match compares with its target: raw points, or points less par a deal."""
    if match == "raw":
        return [Fraction(total) for total in totals]
    return [total - deals * par for total in totals]


def match_winner(
    totals: Sequence[int], deals: int, match: str, target: int | None, par: Fraction
) -> int | None:
    """Return the seat that has won after `deals` whole deals, None if the match plays on.

    A single deal is won by the highest sum without a target; None there means a tie.
    """
    sums = match_sums(totals, deals, match, par)
    highest = max(sums)
    if target is not None and highest < target:
        return None
    if sums.count(highest) > 1:
        return None
    return sums.index(highest)


def match_over(
    totals: Sequence[int], deals: int, match: str, target: int | None, par: Fraction
) -> bool:
    """Tell whether the match ends after `deals` whole deals with these raw points."""
    if match == "deal":
        return True
    return match_winner(totals, deals, match, target, par) is not None


class ReferenceGame:
    """One game, from a deck whose top card comes first; every action is a card."""

    def __init__(
        self,
        variant: str,
        num_players: int,
        deck: Sequence[str],
        dealer: int,
        *,
        capture: str = "card",
        leader: str | None = None,
        sweep_reverses: bool | None = None,
        peek: str | None = None,
        red_five_levy: int | None = None,
        red_five_trigger: str = "red_takes_red",
        match: str = "deal",
        target: int | None = None,
    ) -> None:
        """Deal the first deal; a switch left at None is the variant's own."""
        row = VARIANTS[variant]
        if num_players not in row.points:
            raise ValueError(f"{variant} is for {sorted(row.points)} players, not {num_players}")
        if not 0 <= dealer < num_players:
            raise ValueError(f"there is no seat {dealer}")
        self.card_points = row.points[num_players]
        self.num_players = num_players
        self.par = Fraction(sum(self.card_points.values()), num_players)
        self.capture = capture
        self.leader_rule = row.leader if leader is None else leader
        self.sweep_reverses = row.sweep_reverses if sweep_reverses is None else sweep_reverses
        self.peek = row.peek if peek is None else peek
        self.red_five_levy = row.levy if red_five_levy is None else red_five_levy
        self.red_five_trigger = red_five_trigger
        self.match = match
        self.target = DEFAULT_TARGET[match] if target is None else target
        for value, allowed in (
            (self.capture, ("card", "hand")),
            (self.leader_rule, ("left", "dealer")),
            (self.peek, ("none", "dealer", "last")),
            (self.red_five_trigger, ("red_takes_red", "pile")),
        ):
            if value not in allowed:
                raise ValueError(f"{value!r} is not one of {allowed}")
        self.totals = [0] * num_players  # raw points over the finished deals
        self.deals = 0  # finished deals
        self._deal(deck, dealer)

    # Dealing

    def _deal(self, deck: Sequence[str], dealer: int) -> None:
        """Deal out a deck."""
        if sorted(deck) != sorted(CARDS):
            raise ValueError("a deck holds each of the 52 cards once")
        seats = self.num_players
        self.dealer = dealer
        self.leader = dealer if self.leader_rule == "dealer" else (dealer + 1) % seats
        self.hands: list[list[str]] = [[] for _ in range(seats)]
        for number, card in enumerate(deck[:24]):
            self.hands[(self.leader + number) % seats].append(card)
        self.table: list[str] = list(deck[24:28])  # longest-lying first
        self.stock: list[str] = list(deck[28:])  # top first
        self.piles: list[list[str]] = [[] for _ in range(seats)]
        self.laid: list[list[str]] = [[] for _ in range(seats)]
        self.captures: list[tuple[int, str, list[str]]] = []  # (seat, card, cards it took)
        self.player = self.leader
        self.direction = 1
        self.phase = "play"
        self.pending: str | None = None
        self.turns = 0
        self.last_played: str | None = None
        self.last_flipped: str | None = None
        self.bottom_card = deck[51]
        self.bottom_known_by: int | None = None
        if self.peek == "dealer":
            self.bottom_known_by = dealer
        elif self.peek == "last":
            self.bottom_known_by = (self.leader - 1) % seats
        ranks = {card[0] for card in self.table}
        if len(ranks) == 1 and ranks <= set(SAME_RANK):
            self.piles[dealer] += self.table
            self.table = []

    def next_deal(self, deck: Sequence[str]) -> None:
        """Deal on in a match; the deal passes to the next seat in seat order."""
        if not self.needs_deck:
            raise ValueError("no deal is due")
        self._deal(deck, (self.dealer + 1) % self.num_players)

    # Playing

    def targets(self, card: str) -> list[str]:
        """List the table cards that a card can capture, longest-lying first."""
        return [other for other in self.table if can_capture(card, other)]

    def legal(self) -> list[str]:
        """List the legal actions by card id: hand cards, or targets of the pending card."""
        if self.phase == "over":
            return []
        if self.pending is not None:
            return sorted(self.targets(self.pending), key=CARD_ID.__getitem__)
        hand = self.hands[self.player]
        capturing = [card for card in hand if self.targets(card)]
        if self.capture == "hand" and capturing:
            hand = capturing
        return sorted(hand, key=CARD_ID.__getitem__)

    def play(self, card: str) -> None:
        """Play a hand card, or take a target with the pending card."""
        if card not in self.legal():
            raise ValueError(f"{card} is not legal; legal: {' '.join(self.legal()) or 'nothing'}")
        if self.phase == "play":
            self.hands[self.player].remove(card)
            self.last_played = card
            if self._resolve(card, "take_with_hand"):
                self._flip()
        else:
            assert self.pending is not None
            from_hand = self.phase == "take_with_hand"
            taker = self.pending
            self.pending = None
            self._take(taker, [card])
            if from_hand:
                self._flip()
            else:
                self._end_turn()

    def _flip(self) -> None:
        """Turn the top stock card and resolve it."""
        card = self.stock.pop(0)
        self.last_flipped = card
        if self._resolve(card, "take_with_stock"):
            self._end_turn()

    def _resolve(self, card: str, take_phase: str) -> bool:
        """Lay a card down or capture with it; return False if the player must choose first."""
        matching = self.targets(card)
        if len(matching) == 0:
            self.table.append(card)
            if take_phase == "take_with_hand":
                self.laid[self.player].append(card)
        elif len(matching) == 1 or (len(matching) == 3 and card[0] in SAME_RANK):
            self._take(card, matching)
        else:
            self.pending = card
            self.phase = take_phase
            return False
        return True

    def _take(self, card: str, taken: list[str]) -> None:
        """Put a card and the table cards it takes on the pile of the player on turn."""
        for other in taken:
            self.table.remove(other)
            for laid in self.laid:
                if other in laid:
                    laid.remove(other)
        self.piles[self.player] += [card, *taken]
        self.captures.append((self.player, card, taken))

    def _end_turn(self) -> None:
        """Reverse on a sweep, then pass the turn on or end the deal."""
        self.turns += 1
        self.phase = "play"
        if self.sweep_reverses and not self.table:
            self.direction = -self.direction
        if not any(self.hands):
            self._end_deal()
            return
        seat = (self.player + self.direction) % self.num_players
        while not self.hands[seat]:
            seat = (seat + self.direction) % self.num_players
        self.player = seat

    def _end_deal(self) -> None:
        """Add the points of the finished deal to the totals."""
        self.phase = "over"
        self.deals += 1
        for seat, points in enumerate(self.points()):
            self.totals[seat] += points

    # Counting

    @property
    def deal_over(self) -> bool:
        """Tell whether the present deal is finished."""
        return self.phase == "over"

    @property
    def is_over(self) -> bool:
        """Tell whether the whole game, deal or match, is finished."""
        return self.deal_over and match_over(
            self.totals, self.deals, self.match, self.target, self.par
        )

    @property
    def needs_deck(self) -> bool:
        """Tell whether a deal is finished and the match goes on."""
        return self.deal_over and not self.is_over

    def match_winner(self) -> int | None:
        """Return the seat that has won, None while nobody has (or when a single deal is tied)."""
        if not self.is_over:
            return None
        return match_winner(self.totals, self.deals, self.match, self.target, self.par)

    @property
    def levy_player(self) -> int | None:
        """Return the seat that levies on the others in this deal, as far as it has gone."""
        if self.red_five_levy == 0:
            return None
        if self.red_five_trigger == "pile":  # however they came there, even as a quad at the deal
            for seat, pile in enumerate(self.piles):
                if "5D" in pile and "5H" in pile:
                    return seat
            return None
        for seat, card, taken in self.captures:
            if (card == "5D" and "5H" in taken) or (card == "5H" and "5D" in taken):
                return seat
        return None

    def points(self) -> list[int]:
        """Return each seat's points in this deal; the levy comes in once the deal is over."""
        counted = [sum(self.card_points[card] for card in pile) for pile in self.piles]
        if not self.deal_over:
            return counted
        return settle(counted, self.levy_player, self.red_five_levy)

    def net(self) -> list[Fraction]:
        """Return each seat's points less par in this deal."""
        return [points - self.par for points in self.points()]

    # Observing

    def observation(self, player: int) -> list[set[int]]:
        """Return what a player sees as rows of bit positions, seats counted from the player."""
        seats = [(player + place) % self.num_players for place in range(self.num_players)]
        hand = self.hands[player]
        knows_bottom = self.bottom_known_by == player and len(self.stock) > 0
        hidden = list(self.stock)
        for seat in seats[1:]:
            hidden += self.hands[seat]
        if knows_bottom:
            hidden.remove(self.bottom_card)

        rows: list[set[int]] = [set() for _ in range(NUM_ROWS)]
        rows[0] = card_ids(hand)
        rows[1] = card_ids(self.table)
        rows[2] = card_ids([card for card in hand if self.targets(card)])
        if self.phase == "take_with_hand":
            rows[3] = card_ids([self.pending])
        if self.phase == "take_with_stock":
            rows[4] = card_ids([self.pending])
        for place, seat in enumerate(seats):
            rows[5 + place] = card_ids(self.piles[seat])
            rows[9 + place] = card_ids(self.laid[seat])
            rows[17 + place] = thermometer(len(self.hands[seat]))
            rows[26 + place] = thermometer(self._total_mark(seat))
        rows[13] = card_ids(hidden)
        if knows_bottom:
            rows[14] = card_ids([self.bottom_card])
        rows[15] = card_ids([self.last_played])
        rows[16] = card_ids([self.last_flipped])
        rows[21] = thermometer(len(self.stock))
        if not self.deal_over:
            rows[22] = {seats.index(self.player)}
        rows[23] = {seats.index(self.dealer)}
        if self.direction == -1:
            rows[24] = thermometer(52)
        if self.levy_player is not None:
            rows[25] = {seats.index(self.levy_player)}
        return rows

    def _total_mark(self, seat: int) -> int:
        """Return how many of 52 bits show a seat's total in match play."""
        if self.match == "deal":
            return 0
        assert self.target is not None
        total = match_sums(self.totals, self.deals, self.match, self.par)[seat]
        if self.match == "raw":
            share = total / self.target
        else:
            share = (total + self.target) / (2 * self.target)
        return min(52, max(0, int(52 * share // 1)))


def card_ids(cards: Sequence[str | None]) -> set[int]:
    """Return the ids of cards, leaving out None."""
    return {CARD_ID[card] for card in cards if card is not None}


def thermometer(count: int) -> set[int]:
    """Return the bits 0 .. count - 1."""
    return set(range(count))


def copied(game: ReferenceGame) -> ReferenceGame:
    """Return an independent copy; what never changes is shared."""
    twin = copy.copy(game)
    twin.hands, twin.piles, twin.laid = (
        [list(cards) for cards in cards_of_seats]
        for cards_of_seats in (game.hands, game.piles, game.laid)
    )
    twin.table, twin.stock = list(game.table), list(game.stock)
    twin.captures, twin.totals = list(game.captures), list(game.totals)
    return twin
