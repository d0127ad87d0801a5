"""Defines the dark and the light theme. The colors of plotted series are in `widgets/look.py`."""

from textual.theme import Theme

DARK = Theme(
    name="tuilab-dark",
    dark=True,
    primary="#8f9aa3",
    secondary="#8f9aa3",
    accent="#b7a2f2",
    foreground="#d8dcdf",
    background="#121517",
    surface="#171b1e",
    panel="#20262a",
    success="#7fc98f",
    warning="#e2c16b",
    error="#ee7d77",
    variables={
        "border": "#6f6199",
        "border-blurred": "#3a4349",
        "block-cursor-background": "#2b2f45",
        "scrollbar": "#3a4349",
        "scrollbar-background": "#121517",
        "scrollbar-hover": "#59656d",
        "scrollbar-active": "#b7a2f2",
    },
)

LIGHT = Theme(
    name="tuilab-light",
    dark=False,
    primary="#5a656d",
    secondary="#5a656d",
    accent="#6338b6",
    foreground="#20262a",
    background="#fafaf7",
    surface="#f3f3ee",
    panel="#e7e8e2",
    success="#22753a",
    warning="#806000",
    error="#b3261e",
    variables={
        "cpu": "#005FAF",
        "gpu": "#AF5F00",
        "border": "#9c86cf",
        "border-blurred": "#c3c8c6",
        "block-cursor-background": "#e0d8f3",
        "scrollbar": "#c3c8c6",
        "scrollbar-background": "#fafaf7",
        "scrollbar-hover": "#98a09e",
        "scrollbar-active": "#6338b6",
    },
)
