"""Complete user stories, from the first command to the last, with the built wheel, real processes, a real
terminal and a real browser.
"""
