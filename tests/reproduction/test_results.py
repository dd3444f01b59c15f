from bestmix.reproduction.results import ResultFolder


def test_a_folder_keeps_what_is_whole(tmp_path):
    kept = ResultFolder(tmp_path / "deep" / "results")
    assert kept.get("a") == {}
    kept.put("a", {"1": 0.1})
    kept.put("a", {"1": 0.1, "2": 0.05})
    assert ResultFolder(kept.folder).get("a") == {"1": 0.1, "2": 0.05}
    (kept.folder / "a.json").write_text('{"1": 0.')
    assert kept.get("a") == {}
