import pytest

from tuilab.model.subject import Code, Model, subject_of


@pytest.mark.parametrize(
    ("place", "subject"),
    [
        ("/home/ada/mine.py:step", Code("/home/ada/mine.py", "step")),
        ("/home/ada/mine.py", Code("/home/ada/mine.py", "")),
        ("/home/a:b/mine.py", Code("/home/a:b/mine.py", "")),
        ("/home/ada/saved:serve", Model("/home/ada/saved", "serve")),
        ("/home/ada/saved", Model("/home/ada/saved")),
        ("/home/a:b/net.KERAS", Model("/home/a:b/net.KERAS")),
    ],
)
def test_a_path_names_code_or_a_model(place, subject):
    assert subject_of(place) == subject
