"""Checks the links, anchors and pictures of HTML pages: python3 links.py DIRECTORY

Pages on other servers are not fetched: only the form of their URLs is checked.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit


class Page(HTMLParser):
    """The anchors of a page, and the addresses that it refers to with their lines."""

    def __init__(self, path):
        super().__init__()
        self.anchors = {""}
        self.addresses = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        for name in ("href", "src", "poster"):
            if attributes.get(name) is not None:
                self.addresses.append((attributes[name], self.getpos()[0]))


def problem(root, pages, place, address):
    """Returns what is wrong with an address on the page at this place, or None."""
    url = urlsplit(address)
    if url.scheme or url.netloc:
        is_complete = url.scheme in ("http", "https") and "." in url.netloc
        return None if is_complete or url.scheme in ("data", "mailto") else "not a complete URL"
    target = urlsplit(urljoin(place, address))
    path = unquote(target.path).lstrip("/")
    if path == "" or path.endswith("/"):
        path += "index.html"
    if not (root / path).is_file():
        return "no such file"
    if path in pages and unquote(target.fragment) not in pages[path].anchors:
        return "no such anchor"
    return None


def main(directory):
    root = Path(directory)
    paths = sorted(root.rglob("*.html"))
    pages = {path.relative_to(root).as_posix(): Page(path) for path in paths}
    problems = []
    for place, page in pages.items():
        for address, line in page.addresses:
            if found := problem(root, pages, "/" + place, address):
                problems.append(f"{place}:{line}: {address}: {found}")
    links = sum(len(page.addresses) for page in pages.values())
    print("\n".join([*problems, f"{links} links on {len(pages)} pages; {len(problems)} problems"]))
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
