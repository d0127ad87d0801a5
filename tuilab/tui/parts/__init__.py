"""The main screen's parts, one object each; `screens/lab.py` creates and holds them."""
