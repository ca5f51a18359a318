"""Uses all of the official Python client, and prints a line for each case."""

import base64
import io
import os
import tempfile
import time
import urllib.request

from blackforest import BFLClient
from blackforest.types.general.client_config import ClientConfig
from PIL import Image

PREFIX = os.environ["IMAGEKILN_MODEL_PREFIX"]
PROMPT = {"prompt": "a red fox in the snow"}
WAIT = ClientConfig(sync=True, polling_interval=0.2, max_retries=50)
WAIT_SHORTLY = ClientConfig(sync=True, polling_interval=0.2, max_retries=10)


def client(key=os.environ["IMAGEKILN_API_KEY"]):
    return BFLClient(key, base_url=os.environ["IMAGEKILN_BASE_URL"])


def png(color="white"):
    file = io.BytesIO()
    Image.new("RGB", (320, 256), color).save(file, "PNG")
    return file.getvalue()


def base64_png(color="white"):
    return base64.b64encode(png(color)).decode()


def check_picture(result):
    with urllib.request.urlopen(result["sample"]) as response:
        Image.open(response).verify()


def picture(model, **inputs):
    response = client().generate(f"{PREFIX}-{model}", PROMPT | inputs, WAIT)
    check_picture(response.result)


def edit_file():
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        file.write(png())
        file.flush()
        picture("kontext-pro", input_image=file.name, aspect_ratio="4:3")


def poll():
    service = client()
    task = service.generate(f"{PREFIX}-dev", PROMPT, ClientConfig(sync=False))
    for _ in range(50):
        status = service.get_task_status(task.id)
        if status.status == "Ready":
            return check_picture(status.result)
        time.sleep(0.2)
    raise TimeoutError(f"the task is {status.status}")


def error(expected, act):
    try:
        act()
    except Exception as found:
        if expected not in str(found):
            raise
    else:
        raise AssertionError("no error")


def outcome(prompt):
    generate = client().generate
    error("Task failed", lambda: generate(f"{PREFIX}-dev", {"prompt": prompt}, WAIT_SHORTLY))


CASES = {
    "dev": lambda: picture("dev", width=512, height=256, steps=20, guidance=2.5, seed=7),
    "pro": lambda: picture("pro"),
    "pro-1.1": lambda: picture("pro-1.1", output_format="png", prompt_upsampling=True),
    "pro-1.1 with an image": lambda: picture("pro-1.1", image_prompt=base64_png()),
    "pro-1.1-ultra": lambda: picture("pro-1.1-ultra", aspect_ratio="21:9", raw=True),
    "kontext-pro": lambda: picture("kontext-pro"),
    "kontext-pro with a file": edit_file,
    "kontext-pro with four images": lambda: picture(
        "kontext-pro",
        input_image=base64_png("red"),
        input_image_2=base64_png("green"),
        input_image_3=base64_png("blue"),
        input_image_4=base64_png("white"),
    ),
    "fill": lambda: picture("pro-1.0-fill", image=base64_png("red"), mask=base64_png()),
    "expand": lambda: picture("pro-1.0-expand", image=base64_png(), top=64, right=128),
    "canny": lambda: picture("pro-1.0-canny", control_image=base64_png()),
    "depth": lambda: picture("pro-1.0-depth", control_image=base64_png()),
    "poll": poll,
    "usage": lambda: client().track_usage_via_api(f"{PREFIX}-dev", 1),
    "unknown key": lambda: error(
        "403", lambda: client("unknown").generate(f"{PREFIX}-dev", PROMPT)
    ),
    "invalid request": lambda: error("422", lambda: picture("pro-1.0-fill", image="?")),
    "status Error": lambda: outcome("[[error]]"),
    "status Request Moderated": lambda: outcome("gore"),
    "status Content Moderated": lambda: outcome("a weapon"),
}

for name, case in CASES.items():
    try:
        case()
        print("ok", name)
    except Exception as found:
        print(f"failed {name}:", " ".join(str(found).split()))
