"""Things that learn: one file for each algorithm, and `common`, what must be right once.

An agent file holds, in this order, its ``Config``, network, rollout, loss, ``fit(run, config)`` and
``load(run)``. ``train.py`` finds the files by their names.
"""
