"""Playing and replaying in the browser: a local server and one page.

Python says all that is true of a game, and what of it a player may know; the page only shows it.
Needs the extra ``web``.
"""
