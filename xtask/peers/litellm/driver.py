"""Makes pictures with LiteLLM."""

import asyncio
import os
from unittest.mock import patch

# Without this, the import tries to download prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["BFL_API_KEY"] = os.environ["IMAGEKILN_API_KEY"]
os.environ["BFL_API_BASE"] = os.environ["IMAGEKILN_BASE_URL"]

import httpx
import litellm

MODEL = f"black_forest_labs/{os.environ['IMAGEKILN_MODEL_PREFIX']}-dev"
PROMPT = "a red fox in the snow"
# LiteLLM polls only hosts of the provider.
CHECK = "litellm.llms.black_forest_labs.image_generation.handler.assert_bfl_polling_url"


async def make(number, slots, downloads):
    async with slots:
        response = await litellm.aimage_generation(
            prompt=PROMPT, model=MODEL, size="256x256", seed=number
        )
        picture = await downloads.get(response.data[0].url)
        picture.raise_for_status()
        with open(f"pictures/{number}.jpg", "wb") as file:
            file.write(picture.content)


async def main():
    slots = asyncio.Semaphore(int(os.environ["AT_ONCE"]))
    async with httpx.AsyncClient() as downloads:
        numbers = range(int(os.environ["PICTURES"]))
        await asyncio.gather(*(make(number, slots, downloads) for number in numbers))


with patch(CHECK):
    asyncio.run(main())
