"""Views that were made a moment ago, so that many viewers of one experiment cost little more than one."""

import time
from collections import OrderedDict

from bestmix.experiments import Experiment
from bestmix.pages import views

LASTS = 5.0  # seconds
MOST = 100  # views that are kept


class Album:
    """The last view of each experiment; it is shown again only while the experiment's figures are the same."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, tuple[float, views.View]] = OrderedDict()

    def look(self, experiment: Experiment) -> views.View:
        """What a page shows of the experiment now."""
        key = experiment.record.key
        until, held = self._views.get(key, (0.0, None))
        if held is not None and time.monotonic() < until and held.state == experiment.state:
            return held
        made = views.look(experiment)
        self._views[key] = time.monotonic() + LASTS, made
        while len(self._views) > MOST:
            self._views.popitem(last=False)
        return made
