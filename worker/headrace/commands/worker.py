"""`headrace worker`: raw topics in, canonical topics out, until it is told to stop."""

from __future__ import annotations

import gc
import os
import tempfile

import faust
import mode.loop

from headrace import logs
from headrace.commands.options import ConfigOption, SetOption, settings_of


def worker(config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Run a worker. SIGTERM or Ctrl-C finishes the batches at hand, commits and leaves the group.

    Metrics are at /metrics and health at /health, on localhost unless web.host says otherwise. Exits with 1 when it
    cannot go on.
    """
    settings = settings_of(config, overrides)
    logs.configure(settings.log)
    if os.name != "nt":
        mode.loop.use("uvloop")

    from headrace.kafka.app import create_app  # after the loop is chosen

    _spare_the_collector()
    # The app keeps nothing on disk, but Faust wants a folder of its own.
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        app = create_app(settings, datadir=folder)
        faust.Worker(app, redirect_stdouts=False, quiet=True, override_logging=False).execute_from_commandline()


def _spare_the_collector() -> None:
    """A batch makes tens of thousands of values that live until it is published and are in no cycle: going through
    them again and again cost a tenth of the worker's time. What is loaded by now stays and is not looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
