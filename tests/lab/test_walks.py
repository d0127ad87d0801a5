"""Random walks through the lab. Everything that the lab shows must equal the stored text.

`--snapshot-update` renews the stored text.
"""

import pytest

from tests.lab.walk import walk
from tests.report.test_whole_reports import Text, digest
from tests.workloads.test_presets import PRESETS
from tuilab.lab.settings import Settings, switches
from tuilab.model.errors import InputError


@pytest.mark.parametrize("name", list(PRESETS)[::3])
def test_a_walk_that_begins_at_a_preset(name, snapshot):
    assert "\n".join(walk(PRESETS[name], seed=len(name))) == snapshot(extension_class=Text)


def test_walks_that_begin_at_the_other_presets(snapshot):
    others = [name for index, name in enumerate(PRESETS) if index % 3]
    said = [f"{name} {' '.join(map(digest, walk(PRESETS[name], seed=7 * len(name))))}" for name in others]
    assert "\n".join(said) == snapshot(extension_class=Text)


def test_a_choice_that_leaves_no_arm_is_refused():
    settings = Settings.of(PRESETS["sequential-work"])
    assert [switch.key for switch in switches(settings) if switch.on] == ["graph"]
    with pytest.raises(
        InputError, match="variant: got 'add'; expected a choice that leaves at least one arm"
    ):
        settings.at_stop("variant", "add")
