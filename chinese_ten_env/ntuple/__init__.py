"""N-tuple networks: lookup tables that learn to play, with all of it compiled.

`Network` plays, `Teacher` makes lessons from playing out every card, `Descent` learns from them.
``agents/dmc.py`` puts them together.
"""

from chinese_ten_env.ntuple.descent import Descent
from chinese_ten_env.ntuple.network import Network
from chinese_ten_env.ntuple.playouts import RULES, Lessons, Settings, Teacher

__all__ = ["RULES", "Descent", "Lessons", "Network", "Settings", "Teacher"]
