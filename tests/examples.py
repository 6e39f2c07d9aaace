"""List the worked examples of the rules as plain data, for tests to run through any engine.

Cards are text, "AH 9C"; each id is that of the rules text. Nothing here plays a card.
"""

from dataclasses import dataclass
from fractions import Fraction

COLUMNS = (
    ("mainland", 2),
    ("mainland", 3),
    ("mainland", 4),
    ("taiwan_low_aces", 4),
    ("gob_dum_gob_dang", 2),
)
"""The (variant, players) of the five columns of points; `taiwan` scores as the second."""


# --- Turns


@dataclass(frozen=True)
class TurnExample:
    """One whole turn: the position, the actions, and what the turn brings the player."""

    id: str
    table: str  # longest-lying first
    hand: str  # cards of the player on turn that matter
    stock: str  # the top card
    actions: str  # the hand card, then each target chosen; forced captures are no action
    table_after: str  # longest-lying first
    captured: str  # the cards of the turn that go to the player's pile
    points: tuple[int, int, int, int, int]  # gained, by COLUMNS
    levies: bool = False  # by the trigger "red_takes_red"
    levies_by_pile: bool = False  # by the trigger "pile"
    last_turn: bool = False  # the hand card is the last of all hands; the deal is over after it


TURNS = (
    TurnExample(
        "V02a", "7S 7D 9C 9H", "3H", "AS", "3H 7D 9H", "7S 9C", "3H 7D AS 9H", (20, 50, 50, 50, 50)
    ),
    TurnExample(
        "V02b", "7S 7D 9C 9H", "3H", "AS", "3H 7D 9C", "7S 9H", "3H 7D AS 9C", (10, 40, 40, 40, 59)
    ),
    TurnExample(
        "V02c", "7S 7D 9C 9H", "3H", "AS", "3H 7S 9C", "7D 9H", "3H 7S AS 9C", (3, 33, 33, 33, 66)
    ),
    TurnExample("V03", "7S 7D 9C 9H", "2C", "KS", "2C", "7S 7D 9C 9H 2C KS", "", (0, 0, 0, 0, 0)),
    TurnExample("V05", "", "4D", "6S", "4D", "", "4D 6S", (4, 4, 4, 4, 6)),
    TurnExample("V06", "", "4D", "KS", "4D", "4D KS", "", (0, 0, 0, 0, 0)),
    TurnExample("V07", "8H QC", "2C", "QD", "2C", "", "2C 8H QD QC", (18, 18, 18, 18, 12)),
    TurnExample(
        "V10", "AH 9S 4C KD", "9D", "AC", "9D", "4C KD", "9D AH AC 9S", (30, 30, 70, 20, 9)
    ),
    TurnExample(
        "V11a", "KH KS 3C 6D", "KD", "2S", "KD KH", "KS 3C 6D 2S", "KD KH", (20, 20, 20, 20, 0)
    ),
    TurnExample("V14", "7C 3S", "3D", "7H", "3D", "", "3D 7C 7H 3S", (10, 10, 10, 10, 10)),
    TurnExample(
        "V20", "KH KD KS 4C", "KC", "8S", "KC", "4C 8S", "KC KH KD KS", (20, 20, 20, 20, 20)
    ),
    TurnExample(
        "V21", "QH QS QC 2D", "7C", "QD", "7C", "2D 7C", "QD QH QS QC", (20, 20, 20, 20, 20)
    ),
    TurnExample(
        "V22",
        "5H 5D 5S 9C",
        "5C",
        "JS",
        "5C",
        "9C JS",
        "5C 5H 5D 5S",
        (10, 10, 10, 10, 10),
        levies_by_pile=True,
    ),
    TurnExample(
        "V23",
        "5H 5S 5C KH",
        "5D",
        "JS",
        "5D",
        "KH JS",
        "5D 5H 5S 5C",
        (10, 10, 10, 10, 10),
        levies=True,
        levies_by_pile=True,
    ),
    TurnExample(
        "V29", "AS AH AD AC", "9H", "9C", "9H AS AC", "AH AD", "9H AS 9C AC", (10, 40, 80, 40, 59)
    ),
    TurnExample(
        "V35",
        "4S TD",
        "6H",
        "TC",
        "6H",
        "",
        "6H 4S TC TD",
        (16, 16, 16, 16, 14),
        last_turn=True,
    ),
    TurnExample(
        "V37",
        "KS KH KD 7C",
        "3D",
        "KC",
        "3D",
        "",
        "3D 7C KC KS KH KD",
        (23, 23, 23, 23, 27),
        last_turn=True,
    ),
)
"""Each turn holds in all five columns, by either value of `capture`."""


# --- What may be chosen


@dataclass(frozen=True)
class PlayableExample:
    """Which hand cards may be played, by either value of `capture`."""

    id: str
    table: str
    hand: str  # the whole hand
    legal_by_card: str
    legal_by_hand: str


PLAYABLE = (PlayableExample("V04", "7S 7D 9C 9H", "3H 2C", "3H 2C", "3H"),)
"""Hand cards that may be played."""


@dataclass(frozen=True)
class TargetsExample:
    """Which table cards the card just played may take."""

    id: str
    table: str
    card: str
    stock: str  # the top card, "" where the example names none
    targets: str


TARGETS = (
    TargetsExample("V13", "5H 5S 2C JD", "5C", "3S", "5H 5S"),
    TargetsExample("V15", "9S 9C 9H 9D", "AD", "", "9S 9C 9H 9D"),
)
"""One of the targets is taken, the player's choice."""


# --- Dealing


@dataclass(frozen=True)
class LayoutExample:
    """What a layout does at the deal, and who leads."""

    id: str
    variant: str
    num_players: int
    dealer: int
    layout: str
    table: str  # after the deal
    dealer_pile: str
    dealer_points: int
    leader: int


LAYOUTS = (
    LayoutExample("V09", "mainland", 2, 1, "AH 9S 4C KD", "AH 9S 4C KD", "", 0, 0),
    LayoutExample("V25", "mainland", 2, 1, "KS KH KD KC", "", "KS KH KD KC", 20, 0),
    LayoutExample("V27", "taiwan", 4, 0, "KS KH KD KC", "", "KS KH KD KC", 20, 0),
    LayoutExample("V29", "mainland", 2, 1, "AS AH AD AC", "AS AH AD AC", "", 0, 0),
)
"""Layouts (V09 and V29 hold in every variant; one stands for them)."""


@dataclass(frozen=True)
class HandSizeExample:
    """How many cards go where at the deal."""

    id: str
    num_players: int
    hand_size: int
    layout: int = 4
    stock: int = 24


HAND_SIZES = (
    HandSizeExample("V95", 2, 12),
    HandSizeExample("V95", 3, 8),
    HandSizeExample("V95", 4, 6),
)
"""Sizes at the deal."""

PLAYER_COUNTS = {
    "mainland": (2, 3, 4),
    "taiwan": (4,),
    "taiwan_low_aces": (2, 4),
    "gob_dum_gob_dang": (2, 3, 4),
    "g4a": (3,),
    "g4a_gob_dum_gob_dang": (3,),
}
"""V95: any other count of players is an error."""


@dataclass(frozen=True)
class LeaderExample:
    """Who leads a deal."""

    id: str
    variant: str
    num_players: int
    dealer: int
    leader: int


LEADERS = (
    LeaderExample("V98", "mainland", 4, 2, 3),
    LeaderExample("V99", "taiwan", 4, 2, 2),
)
"""The leader is the seat after the dealer, or the dealer."""


# --- Direction of play


@dataclass(frozen=True)
class DirectionExample:
    """A turn in the middle of a deal (everybody holds cards), and who plays after it."""

    id: str
    variant: str
    num_players: int
    player: int
    direction: int  # +1 or -1
    table: str
    hand: str
    stock: str
    actions: str
    table_after: str
    direction_after: int
    next_players: tuple[int, ...]  # in the order of play, as long as no sweep follows


DIRECTIONS = (
    DirectionExample("V40", "taiwan", 4, 1, 1, "8H 6C", "2C", "4D", "2C", "", -1, (0, 3, 2, 1)),
    DirectionExample("V42", "taiwan", 4, 1, -1, "8H 6C", "2C", "4D", "2C", "", 1, (2,)),
    DirectionExample("V47", "taiwan", 4, 1, 1, "6C QS", "2C", "4D", "2C", "QS 2C", 1, (2,)),
)
"""Sweeps in Taiwanese play."""


# --- Settlement


@dataclass(frozen=True)
class SettlementExample:
    """The points of a finished deal, from the points of the piles and the captures of fives."""

    id: str
    variant: str
    num_players: int
    five_captures: tuple[tuple[int, str, str], ...]  # (seat, card, card it takes)
    levy_player: int | None  # by the trigger "red_takes_red"
    piles: tuple[int, ...]  # () where the example names none
    points: tuple[int, ...]
    net: tuple[int, ...]  # () where the example names none


SETTLEMENTS = (
    SettlementExample(
        "V50",
        "taiwan",
        4,
        ((0, "5H", "5D"),),
        0,
        (45, 70, 65, 60),
        (75, 60, 55, 50),
        (15, 0, -5, -10),
    ),
    SettlementExample("V53", "taiwan", 4, ((1, "5S", "5H"), (3, "5D", "5C")), None, (), (), ()),
    SettlementExample("V55", "taiwan", 4, (), 0, (200, 40, 0, 0), (230, 30, -10, -10), ()),
    SettlementExample("V57", "taiwan_low_aces", 2, (), 1, (120, 100), (110, 110), (0, 0)),
)
"""Red-five levies; V53 levies under neither trigger."""


@dataclass(frozen=True)
class NetExample:
    """Points of a deal and what they are above par."""

    id: str
    variant: str
    num_players: int
    points: tuple[int, ...]
    net: tuple[Fraction, ...]


def _fractions(*numerators: int, over: int = 1) -> tuple[Fraction, ...]:
    """Divide whole numbers exactly."""
    return tuple(Fraction(numerator, over) for numerator in numerators)


NETS = (
    NetExample("V70", "mainland", 2, (80, 130), _fractions(-25, 25)),
    NetExample("V72", "mainland", 3, (60, 80, 100), _fractions(-20, 0, 20)),
    NetExample("V75", "taiwan_low_aces", 4, (55, 20, 65, 80), _fractions(0, -35, 10, 25)),
    NetExample("V77", "gob_dum_gob_dang", 2, (118, 100), _fractions(9, -9)),
    NetExample(
        "V79", "gob_dum_gob_dang", 4, (89, 45, 0, 84), _fractions(138, -38, -218, 118, over=4)
    ),
)
"""Nets of a deal."""


# --- Matches


@dataclass(frozen=True)
class MatchExample:
    """Sums before a deal, what the deal adds, and whether the match is over after it."""

    id: str
    match: str  # "raw": sums of points; "net": sums of points less par
    target: int
    before: tuple[int, ...]
    deal: tuple[int, ...]
    after: tuple[int, ...]
    over: bool
    winner: int | None


MATCHES = (
    MatchExample("V85", "raw", 1000, (930, 960, 700), (60, 90, 90), (990, 1050, 790), True, 1),
    MatchExample("V86", "raw", 1000, (950, 980, 700), (100, 80, 60), (1050, 1060, 760), True, 1),
    MatchExample("V89", "net", 100, (90, -90), (25, -25), (115, -115), True, 0),
)
"""Matches to a target."""


@dataclass(frozen=True)
class RotationExample:
    """Who deals next, whatever the direction was."""

    id: str
    num_players: int
    dealer: int
    direction: int
    next_dealer: int


ROTATIONS = (RotationExample("V90", 4, 3, -1, 0),)
"""The deal passes in seat order."""


# --- Whole deals


@dataclass(frozen=True)
class DealResult:
    """What each seat has at the end of a whole deal."""

    variant: str
    num_players: int
    points: tuple[int, ...]  # levy included
    pile_sizes: tuple[int, ...] | None = None  # where the rules text gives them

    @property
    def dealer(self) -> int:
        """Return the dealer that makes seat 0 lead."""
        return 0 if self.variant in ("taiwan", "taiwan_low_aces") else self.num_players - 1


@dataclass(frozen=True)
class DealExample:
    """One deck, played by the convention below in several variants."""

    id: str
    deck: str
    results: tuple[DealResult, ...]


DEALS = (
    DealExample(
        "D1",
        "AS AH AD AC 2S 2H 2D 2C 3S 3H 3D 3C 4S 4H 4D 4C 5S 5H 5D 5C 6S 6H 6D 6C 7S 7H 7D 7C "
        "8S 8H 8D 8C 9S 9H 9D 9C TS TH TD TC JS JH JD JC QS QH QD QC KS KH KD KC",
        (
            DealResult("mainland", 2, (60, 150)),
            DealResult("mainland", 3, (90, 75, 75)),
            DealResult("mainland", 4, (30, 105, 60, 85), (8, 18, 8, 18)),
            DealResult("taiwan", 4, (20, 140, 50, 30)),
            DealResult("taiwan_low_aces", 2, (80, 140)),
            DealResult("taiwan_low_aces", 4, (20, 130, 40, 30)),
            DealResult("gob_dum_gob_dang", 2, (89, 129)),
            DealResult("gob_dum_gob_dang", 3, (30, 113, 75)),
            DealResult("gob_dum_gob_dang", 4, (89, 45, 0, 84)),
        ),
    ),
    DealExample(
        "D2",
        "TH 7H AC 3S TD KH 2C 6D AD QS AH 5C 7D 9D 7C 5H 4C 4D 6S 5S 6C QD 3C KC JH JD 8D KS "
        "9S TS JC 7S 4H 4S 2S 8H JS 6H 3H KD 9C AS TC QH 9H 8S 8C QC 2H 2D 5D 3D",
        (
            DealResult("mainland", 2, (89, 121)),
            DealResult("mainland", 3, (68, 113, 59)),
            DealResult("mainland", 4, (76, 68, 83, 53)),
            DealResult("taiwan", 4, (76, 68, 43, 53)),
            DealResult("taiwan_low_aces", 2, (109, 111)),
            DealResult("taiwan_low_aces", 4, (66, 58, 43, 53)),
            DealResult("gob_dum_gob_dang", 2, (139, 79)),
            DealResult("gob_dum_gob_dang", 3, (61, 77, 80)),
            DealResult("gob_dum_gob_dang", 4, (83, 42, 56, 37)),
        ),
    ),
    DealExample(
        "D4",
        "QS 8S KC 9S 2C 8D 4C 4D 2H 5C 3D 9C 7D KD AH 9H AS 5S TC 3C JH QH 2S 2D TD TS TH KS "
        "JS KH 4H 5H 6D 6H 9D 8H JC 3H 7H QD 4S 6S 5D QC AC JD 6C 7S 3S 7C 8C AD",
        (
            DealResult("mainland", 2, (124, 86)),
            DealResult("mainland", 3, (51, 92, 97)),
            DealResult("mainland", 4, (130, 44, 64, 42)),
            DealResult("taiwan", 4, (90, 44, 64, 42)),
            DealResult("taiwan_low_aces", 2, (144, 76)),
            DealResult("taiwan_low_aces", 4, (90, 44, 54, 32)),
            DealResult("gob_dum_gob_dang", 2, (134, 84)),
            DealResult("gob_dum_gob_dang", 3, (59, 107, 52)),
            DealResult("gob_dum_gob_dang", 4, (89, 56, 45, 28)),
        ),
    ),
)
"""Whole deals. Everybody plays the hand card dealt to him earliest and, where there is a choice,
takes the card that has lain longest on the table. Seat 0 leads: the dealer is the last seat, or
seat 0 in the Taiwanese variants. D1 in `taiwan` has one levy, to seat 1."""

LEVIES = {("D1", "taiwan", 4): 1}
"""Which seat levies, for the one whole deal where the rules text names it."""
