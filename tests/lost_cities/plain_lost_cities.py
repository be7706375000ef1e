"""A slow second implementation of the game, with cards as (colour, number) pairs; number 0 is a handshake."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

Card = tuple[int, int]


@dataclass
class PlainGame:
    """Player 0 moves first. ``deck`` is drawn from the end; hands, piles and expeditions are lists of cards."""

    colours: int
    hand_size: int
    ranks: int
    cost: int
    bonus: int
    bonus_cards: int
    action_cap: int
    deck: list[Card]
    hands: list[list[Card]]
    piles: list[list[Card]] = field(default_factory=list)
    expeditions: list[list[list[Card]]] = field(default_factory=list)
    seen_drawn: list[list[Card]] = field(default_factory=lambda: [[], []])
    mover: int = 0
    drawing: bool = False
    discarded: int | None = None
    taken: int = 0
    ending: str | None = None

    def __post_init__(self) -> None:
        self.piles = [[] for _ in range(self.colours)]
        self.expeditions = [[[] for _ in range(self.colours)] for _ in range(2)]

    def copy(self) -> PlainGame:
        twin = replace(self, deck=self.deck[:], hands=[hand[:] for hand in self.hands])
        twin.piles = [pile[:] for pile in self.piles]
        twin.expeditions = [[cards[:] for cards in side] for side in self.expeditions]
        twin.seen_drawn = [cards[:] for cards in self.seen_drawn]
        return twin

    def playable(self, card: Card) -> bool:
        numbers = [number for _, number in self.expeditions[self.mover][card[0]] if number]
        if card[1] == 0:
            return not numbers
        return not numbers or card[1] > max(numbers)

    def sorted_hand(self, player: int) -> list[Card]:
        return sorted(self.hands[player])

    def legal(self) -> list[int]:
        """Numbers of the legal actions, by the drawing in ``lost_cities.rules``."""
        if self.ending:
            return []
        if self.drawing:
            piles = [c for c in range(self.colours) if self.piles[c] and c != self.discarded]
            return [2 * self.hand_size] + [2 * self.hand_size + 1 + c for c in piles]
        actions = []
        hand = self.sorted_hand(self.mover)
        for card in set(hand):
            slot = hand.index(card)
            actions.append(self.hand_size + slot)
            if self.playable(card):
                actions.append(slot)
        return sorted(actions)

    def take(self, action: int) -> None:
        assert action in self.legal()
        me = self.mover
        if not self.drawing:
            card = self.sorted_hand(me)[action % self.hand_size]
            self.hands[me].remove(card)
            if card in self.seen_drawn[me]:
                self.seen_drawn[me].remove(card)
            if action < self.hand_size:
                self.expeditions[me][card[0]].append(card)
            else:
                self.piles[card[0]].append(card)
                self.discarded = card[0]
            self.drawing = True
        else:
            if action == 2 * self.hand_size:
                card = self.deck.pop()
                if not self.deck:
                    self.ending = "deck"
            else:
                card = self.piles[action - 2 * self.hand_size - 1].pop()
                self.seen_drawn[me].append(card)
            self.hands[me].append(card)
            self.drawing, self.discarded, self.mover = False, None, 1 - me
        self.taken += 1
        if self.taken == self.action_cap and not self.ending:
            self.ending = "cap"

    def score(self, player: int) -> int:
        total = 0
        for cards in self.expeditions[player]:
            if not cards:
                continue
            shakes = len([1 for _, number in cards if number == 0])
            total += (sum(number for _, number in cards) - self.cost) * (1 + shakes)
            if len(cards) >= self.bonus_cards:
                total += self.bonus
        return total
