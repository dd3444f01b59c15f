import pytest

from bestmix.cli import codecs


@pytest.fixture
def texts(tmp_path):
    for i in range(4):
        (tmp_path / f"{i}.txt").write_text("".join(f"line {j * j % (97 + i)} of text\n" for j in range(4000)))
    return tmp_path


def test_blocks_depend_on_the_key_alone(texts):
    corpus = codecs.read_corpus([texts])
    assert corpus.files == 4
    assert corpus.block("0/zlib-1/1") == codecs.read_corpus([texts]).block("0/zlib-1/1") != corpus.block("1/zlib-1/1")
    assert len(corpus.block("x")) == codecs.BLOCK


def test_this_machine_has_something_to_compress():
    assert len(codecs.read_corpus([]).data) >= 8 * codecs.BLOCK


def test_every_codec_works(texts):
    trials = codecs.CodecTrials(codecs.read_corpus([texts]), seed=0)
    for arm in trials.codecs:
        saved, costs = trials(arm)
        assert 0 < saved < 1
        assert min(costs.values()) > 0


def test_a_codec_that_loses_data_is_refused(texts):
    trials = codecs.CodecTrials(codecs.read_corpus([texts]), seed=0)
    trials.codecs["zlib-1"] = (trials.codecs["zlib-1"][0], lambda packed: b"")
    with pytest.raises(RuntimeError, match="did not come back"):
        trials("zlib-1")
