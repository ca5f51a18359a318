"""A client in another language than ours, in another container than the simulator's."""

import os
import sys
import time
import urllib.error
import urllib.request

sys.path.append("/client")
from client import picture_of

while True:
    try:
        urllib.request.urlopen(os.environ["IMAGEKILN_BASE_URL"] + "/healthz").close()
        break
    except urllib.error.URLError:
        time.sleep(0.1)
print(len(picture_of("a red fox in the snow")), "bytes")
