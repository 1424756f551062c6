"""The same client for asyncio: what blocks there is awaited here.

async with tokendraw.aio.Client('unix:/run/tokendraw.sock') as client:
    result = await client.sample(logits, tokendraw.SamplingParams(top_p=0.9))
    result.token_ids
"""

from tokendraw.aio.client import Client
from tokendraw.aio.stream import SampleStream

__all__ = ['Client', 'SampleStream']
