from bestmix.reproduction.outcome import as_markdown


def test_a_markdown_table_can_be_read_as_it_stands():
    lines = as_markdown([{"name": "x", "pulls": "12"}, {"name": "longer", "pulls": "1,000"}]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2:] == ["| x      |    12 |", "| longer | 1,000 |"]
