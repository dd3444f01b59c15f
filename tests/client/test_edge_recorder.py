import threading

from bestmix.client import edge_recorder
from bestmix.client.edge_choices import Measure, Place
from bestmix.client.edge_recorder import Recorder

PLACE = Place(1, None, "small")


def recorder():
    return Recorder(b"secret", [Measure("q", "q"), Measure("d", "d")])


def test_what_is_recorded_is_gathered_once():
    book = recorder()
    choice = book.choice(PLACE)
    choice.rows += [{"q": 1.0, "d": 2.0}, {"q": 3.0, "d": 4.0}]
    assert book.waiting() == book.recorded == 2
    found = book.gather()
    assert found[PLACE].count == 2
    assert found[PLACE].sums == [4.0, 6.0]
    assert book.gather() == {}
    assert (book.recorded, book.rejected, book.waiting()) == (2, 0, 0)
    assert book.names() == (["q", "d"], ["q*q", "q*d", "d*d"])


def test_bad_rows_are_counted_and_left_out(caplog):
    book = recorder()
    book.choice(PLACE).rows += [{"q": 1.0, "d": 2.0}, {"q": 1.0}, None]
    assert book.gather()[PLACE].count == 1
    assert (book.recorded, book.rejected) == (3, 2)
    assert (
        "2 requests of arm 'small' are left out, their metrics are not all finite numbers: 'd' is missing"
        in caplog.text
    )


def test_a_choice_is_found_by_its_id_anywhere():
    first, second = recorder(), recorder()
    identifier = first.choice(PLACE).id
    assert first.find(identifier) is first.choice(PLACE)
    assert second.find(identifier).place == PLACE


def test_many_threads_lose_nothing():
    book, each = recorder(), 20_000
    choice = book.choice(PLACE)
    totals = []

    def work():
        for _ in range(each):
            choice.rows.append({"q": 1.0, "d": 0.5})

    crew = [threading.Thread(target=work) for _ in range(4)]
    for thread in crew:
        thread.start()
    while any(thread.is_alive() for thread in crew):
        totals += [sums.count for sums in book.gather().values()]
    totals += [sums.count for sums in book.gather().values()]
    assert sum(totals) == book.recorded == 4 * each


def test_choices_of_old_versions_are_put_away_and_found_again(monkeypatch):
    monkeypatch.setattr(edge_recorder, "MOST_CHOICES", 10)
    book = recorder()
    old = book.choice(PLACE)
    rows = old.rows
    for version in range(2, 14):
        book.choice(Place(version, None, "small"))
    book.put_away()
    assert old.rows is None
    assert book.find(old) is not old
    assert book.find(old.id) is book.find(old)
    rows.append({"q": 1.0, "d": 1.0})  # somebody was about to
    book.find(old).rows.append({"q": 2.0, "d": 1.0})
    assert book.gather()[PLACE].sums == [3.0, 2.0]


def test_a_child_begins_anew():
    book = recorder()
    choice = book.choice(PLACE)
    choice.rows.append({"q": 1.0, "d": 1.0})
    book.begin_anew()
    assert choice.rows is None
    assert book.gather() == {}
    book.find(choice).rows.append({"q": 1.0, "d": 1.0})
    assert book.gather()[PLACE].count == 1
