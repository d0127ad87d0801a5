"""Complete user stories, from the first command to the last: built wheel, real processes, real terminal and
browser.
"""
