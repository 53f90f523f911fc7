"""Kills: SIGKILL to a random process at a random moment, then its restart, a bounded number."""

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pricing.demo.children import Child

KILLS_MAX: Final = 15
PAUSE_SECONDS: Final = (0.2, 1.6)  # between two kills
DOWN_SECONDS: Final = (0.0, 0.5)  # between a kill and the restart


@dataclass(slots=True)
class Chaos:
    """Kills processes of `victims` until KILLS_MAX or `stop`; `seed` decides when and whom."""

    victims: Sequence[Child]
    seed: int
    kills: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name="chaos", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; every process runs when this returns."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def running(self) -> bool:
        """Whether more kills are to come."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        chance = random.Random(self.seed)  # noqa: S311 - a schedule, not a secret
        while self.kills < KILLS_MAX and not self._stopped.wait(chance.uniform(*PAUSE_SECONDS)):
            victim = chance.choice(self.victims)
            victim.kill()
            self._stopped.wait(chance.uniform(*DOWN_SECONDS))
            victim.start()
            self.kills += 1
