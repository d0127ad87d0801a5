"""The parts of the main screen, one object each; `screens/lab.py` creates and owns them."""
