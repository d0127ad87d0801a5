"""The parts of the main screen. `screens/lab.py` creates one object for each part."""
