"""The instrument: builds the arms of a run, warms them up and times them in rounds.

A run goes through `run` → `sweep` (point after point), and there for each arm through

- `prepare`: built, first and second call timed apart, the device that computed observed;
- `warmup`: called until its pace is steady, the calls of a block doubled until it is long enough;
- `rounds`: every arm a block in turn, in random order, until each is known well or the time is over
  (`stopwatch` times a block, `interference` watches the machine);
- `caveats`: what is doubtful about the figures, in words;
- `phases`: if a call's time goes, in a pass of its own.

`tuilab.worker.selftest` holds the same engine against things of known length.
"""
