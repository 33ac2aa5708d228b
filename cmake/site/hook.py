"""What the pages of docs/ say differently on the site than in the repository.

Listings name their file after the language, which a site shows as a title. Links to files that are
no pages lead nowhere on a site: their text stays, as the name of a file. And search from files
does without the script that the theme would load from elsewhere.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIM = re.compile(r'<script src="https://[^"]*iframe-worker[^"]*"></script>')


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def file_name(match):
        path = posixpath.normpath(posixpath.join(folder, match[2]))
        if path.startswith("docs/"):
            return match[0]
        if not (ROOT / path).exists():
            raise SystemExit(f"docs: {page.file.src_uri} links to {path}, which does not exist.")
        return f"`{path}`"

    lines, listing = [], False
    for line in markdown.split("\n"):
        if line.startswith("```"):
            listing = not listing
            line = re.sub(r"^```(\w+) (?:in )?(\S+)$", r'```\1 title="\2"', line)
        elif not listing:
            line = re.sub(r"\[([^\]]*)\]\((\.\./[^)#]*)\)", file_name, line)
        lines.append(line)
    return "\n".join(lines)


def on_post_page(output, page, config):
    worker = posixpath.relpath("frame_worker.js", posixpath.dirname(page.file.dest_uri) or ".")
    script = f'<script src="{worker}"></script>'
    return SHIM.sub(script, output)


def on_post_template(output, template_name, config):
    return SHIM.sub("", output)
