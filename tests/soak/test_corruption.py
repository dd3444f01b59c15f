"""A small version of the soak: damaged bytes and rows."""

from soak import corruption


def test_damage_is_found_or_does_no_harm(tmp_path):
    found = corruption.campaign(tmp_path, cases=40, seed=7)
    assert found["problems"] == []
    assert min(found["flip found"], found["edit found"], found["flip harmless"], found["edit harmless"]) > 0


def test_the_campaign_notices_a_doctor_who_looks_at_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(corruption, "look_at", lambda path, audit: [])
    assert len(corruption.campaign(tmp_path, cases=8, seed=3)["problems"]) > 2
