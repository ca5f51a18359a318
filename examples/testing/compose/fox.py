"""A client in another language than ours, in another container than the simulator's."""

import os
import sys
import time
import types
import urllib.error
import urllib.request

sys.path.append("/client")
from client import picture_of

simulator = types.SimpleNamespace(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"])
while True:
    try:
        urllib.request.urlopen(simulator.base_url + "/healthz").close()
        break
    except urllib.error.URLError:
        time.sleep(0.1)
print(len(picture_of(simulator, "a red fox in the snow")), "bytes")
