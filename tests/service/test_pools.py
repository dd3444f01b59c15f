"""Turns and places: one caller cannot take those of the others."""

import asyncio

import pytest

from bestmix.service.errors import Refusal
from bestmix.service.pools import Pool


def test_a_caller_waits_for_itself_and_lets_others_go_first():
    async def main():
        pool, order = Pool(most=2, of_caller=1, waiting=100), []

        async def call(who):
            async with pool.turn(who):
                order.append(who)
                await asyncio.sleep(0.01)

        greedy = [asyncio.create_task(call("greedy")) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.create_task(call("modest"))
        assert order.index("modest") <= 2
        await asyncio.gather(*greedy)
        assert order.count("greedy") == 20
        assert not pool._count

    asyncio.run(main())


def test_too_many_that_wait_are_refused():
    async def main():
        pool = Pool(most=1, of_caller=1, waiting=2)

        async def call():
            async with pool.turn("a"):
                await asyncio.sleep(0.01)

        tasks = [asyncio.create_task(call()) for _ in range(5)]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in found] == [type(None)] * 3 + [Refusal] * 2
        assert found[-1].code == "too_many"

    asyncio.run(main())


def test_a_call_that_is_cancelled_gives_its_turn_back():
    async def main():
        pool = Pool(most=1, of_caller=1, waiting=10)

        async def call():
            async with pool.turn("a"):
                await asyncio.sleep(10)

        tasks = [asyncio.create_task(call()) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(1), pool.turn("b"):
            pass
        with pytest.raises(KeyError):
            pool._callers["a"]

    asyncio.run(main())
