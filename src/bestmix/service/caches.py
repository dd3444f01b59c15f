"""What a server keeps at hand: experiments that are open, and views that were made a moment ago."""

import threading
import time
from collections import OrderedDict

from bestmix.experiments import Experiment, Storage
from bestmix.experiments.model import KEY, check_text
from bestmix.pages import views
from bestmix.service.errors import Refusal
from bestmix.service.tokens import Token

MOST_OPEN = 500  # experiments kept open
MOST_VIEWS = 100  # views that are kept
FRESH = 5.0  # seconds that a view may be shown again


class OpenExperiments:
    """Experiments by id or by name; what is fixed of them is read once, their figures every time."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._open: OrderedDict[str, Experiment] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, name: str) -> Experiment | None:
        """The experiment with that id, if it is open already."""
        return self._open.get(name)

    def open(self, name: str, token: Token | None = None) -> Experiment:
        """The experiment with that id, or of that name."""
        # What looks like an id is never taken for a name: a call on a deleted experiment must not meet another one.
        found = self.storage.open_key(name) if KEY.fullmatch(name) else self._by_name(name)
        if found is None:
            if token is not None and token.experiment is not None:  # it shall not learn which ones there are
                raise Refusal("forbidden", f"the token {token.prefix} is for another experiment")
            raise Refusal("not_found", "there is no such experiment; give the id or the name of one", "experiment")
        return self.keep(found)

    def keep(self, experiment: Experiment) -> Experiment:
        """Remember an experiment under its id."""
        with self._lock:
            self._open[experiment.record.key] = experiment
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return experiment

    def forget(self, experiment: Experiment) -> None:
        """Drop an experiment that was deleted."""
        with self._lock:
            self._open.pop(experiment.record.key, None)

    def _by_name(self, name: str) -> Experiment | None:
        try:
            record = self.storage.store.find(check_text("name", name))
        except ValueError:
            return None
        return None if record is None else self.storage.open_key(record.key)


class Views:
    """The last view of each experiment, so that many viewers cost little more than one.

    It is shown again only while the experiment's figures are the same.
    """

    def __init__(self) -> None:
        self._views: OrderedDict[str, tuple[float, views.View]] = OrderedDict()

    def look(self, experiment: Experiment) -> views.View:
        """What a page shows of the experiment now."""
        key = experiment.record.key
        until, last = self._views.get(key, (0.0, None))
        if last is not None and time.monotonic() < until and last.state == experiment.state:
            return last
        made = views.look(experiment)
        self._views[key] = time.monotonic() + FRESH, made
        while len(self._views) > MOST_VIEWS:
            self._views.popitem(last=False)
        return made
