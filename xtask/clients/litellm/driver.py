"""Uses all that LiteLLM offers for images of the service, and prints a line for each case."""

import asyncio
import io
import os
import urllib.request
from unittest.mock import patch

# Without this, the import tries to download prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["BFL_API_KEY"] = os.environ["IMAGEKILN_API_KEY"]
os.environ["BFL_API_BASE"] = os.environ["IMAGEKILN_BASE_URL"]

import litellm
from PIL import Image

litellm.suppress_debug_info = True

PREFIX = os.environ["IMAGEKILN_MODEL_PREFIX"]
PROMPT = "a red fox in the snow"
CHECK = "litellm.llms.black_forest_labs.{}.handler.assert_bfl_polling_url"


def model(name):
    return f"black_forest_labs/{PREFIX}-{name}"


def png(color="white"):
    file = io.BytesIO()
    Image.new("RGB", (320, 256), color).save(file, "PNG")
    return file.getvalue()


def check_picture(response):
    with urllib.request.urlopen(response.data[0].url) as picture:
        Image.open(picture).verify()


def picture(name, prompt=PROMPT, **options):
    check_picture(litellm.image_generation(prompt, model(name), **options))


def edit(name, **options):
    check_picture(litellm.image_edit(png("red"), PROMPT, model(name), **options))


async def picture_async():
    check_picture(await litellm.aimage_generation(prompt=PROMPT, model=model("dev")))


async def edit_async():
    response = litellm.aimage_edit(image=png(), prompt=PROMPT, model=model("kontext-pro"))
    check_picture(await response)


def error(expected, act):
    try:
        act()
    except Exception as found:
        if expected not in str(found):
            raise
    else:
        raise AssertionError("no error")


def outcome(prompt, status):
    error(status, lambda: picture("dev", prompt))


CASES = {
    "dev": lambda: picture("dev", size="512x512", seed=7),
    "pro": lambda: picture("pro"),
    "pro-1.1": lambda: picture("pro-1.1", output_format="jpeg"),
    "pro-1.1-ultra": lambda: picture("pro-1.1-ultra", aspect_ratio="21:9", quality="hd"),
    "kontext-pro": lambda: picture("kontext-pro"),
    "kontext-max": lambda: picture("kontext-max"),
    "edit kontext-pro": lambda: edit("kontext-pro", aspect_ratio="4:3"),
    "edit kontext-max": lambda: edit("kontext-max"),
    "edit fill": lambda: edit("pro-1.0-fill", mask=png()),
    "edit expand": lambda: edit("pro-1.0-expand", top=64, right=128),
    "async dev": lambda: asyncio.run(picture_async()),
    "async edit": lambda: asyncio.run(edit_async()),
    "unknown key": lambda: error("403", lambda: edit("kontext-pro", api_key="unknown")),
    "invalid request": lambda: error("422", lambda: picture("dev", size="7x7")),
    "status Error": lambda: outcome("[[error]]", "Error"),
    "status Request Moderated": lambda: outcome("gore", "Request Moderated"),
    "status Content Moderated": lambda: outcome("a weapon", "Content Moderated"),
}


def run(name, case):
    try:
        case()
        print("ok", name)
    except Exception as found:
        print(f"failed {name}:", " ".join(str(found).split()))


run("another host", lambda: picture("dev"))
# All other cases poll a host that the client otherwise refuses.
with patch(CHECK.format("image_generation")), patch(CHECK.format("image_edit")):
    for name, case in CASES.items():
        run(name, case)
