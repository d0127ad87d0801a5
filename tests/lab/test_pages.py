from tests.tui.data import run_state
from tuilab.model.events import Fact
from tuilab.presentation.pages import fact_check_page, observed
from tuilab.report.fact_check import FactCheck, Statement


def test_observations_name_their_arms_unless_they_hold_for_all():
    state = run_state()
    arms = [arm for arm in state.arms.values() if arm.status == "ok"]
    for number, arm in enumerate(arms):
        arm.facts.append(Fact(run=state.run, name="traced", value=3, text="traced 3 times"))
        if number < 2:
            arm.facts.append(Fact(run=state.run, name="spilled", value=1, text="it spilled to disk"))
    state.facts.append(Fact(run=state.run, name="files", value=2, text="two files were written."))
    assert observed(state) == [
        "Two files were written.",
        "Traced 3 times.",
        f"{arms[0].label}, {arms[1].label}: it spilled to disk.",
    ]


def test_a_fact_check_lists_measured_and_running_and_waiting_claims():
    done = Statement(preset="a", text="A graph wins.", line=7, verdict="refuted", evidence="It took longer.")
    waits = [Statement(preset=name, text="The GPU wins.") for name in "bc"]
    page = fact_check_page(FactCheck(title="t", statements=[done, *waits], going="b"))
    lines = [("".join(text for text, _ in line), line[0][1]) for line in page]
    assert lines[0] == ("✗ A graph wins.", "refuted")
    assert lines[1][0] == "  line 7 · refuted: It took longer."
    assert lines[3] == ("▸ The GPU wins.", "head") and lines[4][0] == "  measuring…"
    assert lines[6] == ("· The GPU wins.", "muted") and lines[7][0] == "  not measured yet"
